"""What an analysis of sources comes to, and what the results of their parts come to together."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from verifygate.base.records import record
from verifygate.model import Construct, Finding, NotAnalysed, NotFollowed, Suppression
from verifygate.model.precision_contract import Aspect, ContractRow, Declaration, PrecisionContract


@record
class AnalysisResult:
    """What the static analysis found, and what it could not look at."""

    files_checked: int
    findings: tuple[Finding, ...]
    suppressions: tuple[Suppression, ...]
    idle_suppressions: tuple[Suppression, ...]
    """Those that silence nothing here, and may silence what a run shows."""
    not_analysed: tuple[NotAnalysed, ...]
    not_followed: tuple[NotFollowed, ...]
    constructs: tuple[Construct, ...]
    contract: PrecisionContract
    rules: tuple[str, ...]
    idle: tuple[str, ...]
    """Rules that ran and had nothing to look at: no file names what they are about."""
    gave_up: tuple[str, ...]
    """Rules that broke somewhere: what they find elsewhere is told, and that they find no more is not known."""
    too_new: tuple[str, ...]
    """Rules that were asked for, and are silent: they ask for a newer torch than the project allows."""


def each_once(found: Iterable[NotFollowed]) -> tuple[NotFollowed, ...]:
    """What was not followed, once for each file, rule and reason: at the first place."""
    first: dict[Hashable, NotFollowed] = {}
    for each in sorted(found, key=lambda each: (each.path, each.line, each.reason)):
        first.setdefault((each.path, each.rule, each.reason), each)
    return tuple(first.values())


def together(parts: Sequence[AnalysisResult]) -> AnalysisResult:
    """The result of sources from those of their parts, of which none has a file of another. There is at least one."""
    first = parts[0]
    findings = {(each.path, each.fingerprint): each for part in parts for each in part.findings}
    return AnalysisResult(
        files_checked=sum(part.files_checked for part in parts),
        findings=tuple(sorted(findings.values(), key=lambda each: each.order)),
        suppressions=tuple(sorted((each for part in parts for each in part.suppressions), key=_place)),
        idle_suppressions=tuple(sorted((each for part in parts for each in part.idle_suppressions), key=_place)),
        not_analysed=tuple(sorted((each for part in parts for each in part.not_analysed), key=lambda each: each.path)),
        not_followed=each_once(each for part in parts for each in part.not_followed),
        constructs=tuple(
            sorted((each for part in parts for each in part.constructs), key=lambda each: (each.path, each.line))
        ),
        contract=joined(part.contract for part in parts),
        rules=first.rules,
        idle=tuple(code for code in first.rules if all(code in part.idle for part in parts)),
        gave_up=tuple(code for code in first.rules if any(code in part.gave_up for part in parts)),
        too_new=first.too_new,
    )


def _place(each: Suppression) -> tuple[str, int, str]:
    return each.path, each.line, each.rule


def joined(contracts: Iterable[PrecisionContract]) -> PrecisionContract:
    """One contract of several: each row has the values of all."""
    rows: dict[Aspect, list[ContractRow]] = {}
    for row in (row for each in contracts for row in each.rows):
        rows.setdefault(row.aspect, []).append(row)
    return PrecisionContract(
        rows=tuple(
            contract_row(
                aspect,
                [each for row in rows[aspect] for each in row.declared],
                [each for row in rows[aspect] for each in row.not_followed],
            )
            for aspect in Aspect
            if aspect in rows
        )
    )


def contract_row(aspect: Aspect, said: Iterable[Declaration], gaps: Iterable[NotFollowed]) -> ContractRow:
    """What is declared of an aspect, one value a place, and what could not be followed, in order."""
    declared = {(each.value, each.path, each.line): each for each in said}
    open_yet = set(gaps)
    return ContractRow(
        aspect=aspect,
        standing=("declared in part" if open_yet else "declared") if declared else "not followed",
        declared=tuple(sorted(declared.values(), key=lambda each: (each.said_by, each.path, each.line, each.value))),
        not_followed=tuple(sorted(open_yet, key=lambda each: (each.path, each.line, each.reason))),
    )
