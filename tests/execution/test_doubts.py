"""What neither a loss nor a gradient shows is told at its line, and not of the mended twins."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from verifygate.execution.doubts import lasting
from verifygate.execution.numerics import lines, never_settles, numerics
from verifygate.execution.oracles.runs import Job, Seen, run_jobs
from verifygate.execution.recorded_trace import read_trace
from verifygate.execution.trace_summary import summary
from verifygate.model.numerics import Doubt
from verifygate.process.subject import Subject

pytest.importorskip("torch")
PROGRAMS = Path(__file__).parent / "numerics" / "doubtful.py"
INSTRUMENTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("recorder", {"sample": True}),
    ("numerics", {"asked": False}),
)
TEXT = PROGRAMS.read_text(encoding="utf-8")
NAMES = re.findall(r"^def (\w+)\(\):\n(?!    \"\"\")", TEXT, re.MULTILINE)
TOLD_ONLY = ("short-window", Doubt.PAST_THE_WRAPPER, Doubt.RATIO_OF_TWO_PRECISIONS)
"""What a run is not called unstable for."""


def seen_at(name: str) -> tuple[str, int]:
    """Kind and line of what has to be told of a program: the mark in it, or else the last one before it."""
    body = re.search(rf"^def {name}\(\):\n(?:(?:    .*)?\n)+", TEXT, re.MULTILINE)
    assert body is not None
    marks = [one for one in re.finditer(r"# SEEN (\S+)$", TEXT, re.MULTILINE) if one.start() < body.end()]
    inside = [one for one in marks if one.start() > body.start()]
    mark = inside[0] if inside else marks[-1]
    return mark[1], TEXT.count("\n", 0, mark.start()) + 1


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Seen]:
    """Each program and its twin; all are forked from one process that has imported torch."""
    folder = tmp_path_factory.mktemp("doubtful")
    keys = [(name, mode) for name in NAMES for mode in ("faulty", "mended")]
    jobs = [Job(f"python {PROGRAMS} {name} {mode}", PROGRAMS.parent, INSTRUMENTS) for name, mode in keys]
    subject = Subject(PROGRAMS.parent, Path(sys.executable))
    return dict(zip(keys, run_jobs(subject, jobs, folder, parallel=2), strict=True))


def told(seen: Seen) -> tuple[list[tuple[str, int]], str, list[str]]:
    """Kinds and lines, why the run is unstable, and the words."""
    trace = read_trace(seen.folder / "trace")
    assert trace.problems == []
    report = numerics(seen.events, trace, lambda path: Path(path).name)
    total = summary(trace, {}, lambda path: Path(path).name)
    found = [(each.kind.value, each.line) for each in report.doubtful]
    windows = (re.search(r":(\d+): a window of", each) for each in total.remarks)
    found += [("short-window", int(one[1])) for one in windows if one is not None]
    assert report.unmoved == ()
    assert bool(lasting(report.doubtful)) <= bool(never_settles(trace, total, report))
    return found, never_settles(trace, total, report), [*lines(report), *total.remarks]


@pytest.mark.parametrize("name", NAMES)
def test_it_is_told_where_it_is(name: str, runs: dict[tuple[str, str], Seen]) -> None:
    kind, line = seen_at(name)
    found, unstable, words = told(runs[name, "faulty"])
    assert set(found) == {(kind, line)}, words
    assert bool(unstable) is (kind not in TOLD_ONLY)
    assert any("remedy: " in each or "divide by the number" in each for each in words)


@pytest.mark.parametrize("name", NAMES)
def test_the_twin_is_clean(name: str, runs: dict[tuple[str, str], Seen]) -> None:
    assert told(runs[name, "mended"]) == ([], "", [])
