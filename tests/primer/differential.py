"""Run the primer: check every package twice with each of two revisions, alternately, and compare their findings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from primer.comparison import Difference, compare
from primer.judging import Judge, is_blocking
from primer.pins import Pin
from primer.scans import Revision, Scan, scan
from verifygate.quality.judgements import Judgement

ROUNDS = 2
"""Scans of a package by each revision: the answers must be equal, the cheaper one counts."""


@dataclass(frozen=True)
class Side:
    """What one revision said of one package, and what it took."""

    status: int
    equal: bool
    """Whether all scans printed the same bytes and ended with the same status."""
    findings: list[dict[str, Any]]
    not_followed: int
    not_analysed: int
    cpu_seconds: float
    peak_bytes: int
    broke: str
    """How the scan ended that broke; empty where none did."""


@dataclass(frozen=True)
class PackageResult:
    """One package, under both revisions."""

    pin: Pin
    base: Side | None
    head: Side
    differences: list[Difference]
    judged: list[tuple[dict[str, Any], Judgement | None]]
    """The blocking findings of `head`, with their judgements."""
    lost: list[Judgement]
    """Faults that were judged true, and do not block under `head`."""


def run_primer(
    pins: Sequence[Pin],
    tree_of: Callable[[Pin], Path],
    base: Revision | None,
    head: Revision,
    judge: Judge,
    progress: Callable[[str], None],
) -> list[PackageResult]:
    """The result for each package. The scans of the two revisions alternate, so that both meet the same machine."""
    results = []
    for number, pin in enumerate(pins, 1):
        progress(f"{number}/{len(pins)} {pin.label}")
        results.append(_package(pin, tree_of(pin), base, head, judge))
    return results


def _package(pin: Pin, tree: Path, base: Revision | None, head: Revision, judge: Judge) -> PackageResult:
    olds: list[Scan] = []
    news: list[Scan] = []
    for number in range(ROUNDS):
        pairs = [(head, news)] if base is None else [(base, olds), (head, news)]
        for revision, scans in pairs if number % 2 == 0 else reversed(pairs):
            scans.append(scan(revision, tree, seed=number + 1))
    old, new = _side(olds) if olds else None, _side(news)
    judged = [(each, judge.of(pin, each)) for each in new.findings if is_blocking(each)]
    return PackageResult(
        pin=pin,
        base=old,
        head=new,
        differences=compare(pin.name, old.findings, new.findings) if old else [],
        judged=judged,
        lost=judge.lost(pin, (judgement for _, judgement in judged)),
    )


def _side(scans: list[Scan]) -> Side:
    first = scans[0]
    document = first.document
    return Side(
        status=first.status,
        equal=all((each.status, each.output) == (first.status, first.output) for each in scans),
        findings=document["findings"],
        not_followed=len(document["not_followed"]),
        not_analysed=len(document["not_analysed"]),
        cpu_seconds=min(each.cpu_seconds for each in scans),
        peak_bytes=min(each.peak_bytes for each in scans),
        broke=next((each.ending for each in scans if each.broke), ""),
    )
