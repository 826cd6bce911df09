"""Each of 24 planted causes is found at its operation and line, in the step that broke; their twins are clean."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from verifygate.execution.numerics import never_settles, numerics
from verifygate.execution.oracles.runs import Job, Seen, run_jobs
from verifygate.execution.recorded_trace import read_trace
from verifygate.execution.trace_summary import summary
from verifygate.model.numerics import NumericsReport
from verifygate.process.subject import Subject

pytest.importorskip("torch")
PLANTED = Path(__file__).parent / "numerics" / "planted.py"
INSTRUMENTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("emulate_cuda", {}),
    ("recorder", {"emulated": True, "sample": True}),
    ("numerics", {"asked": False}),
)


class Planted(NamedTuple):
    """Where a cause is."""

    line: int
    operator: str
    limit: str
    swallowed: bool


def planted() -> dict[str, Planted]:
    """Every program by its name."""
    found, names = {}, []
    text = PLANTED.read_text(encoding="utf-8")
    used = {each: text.index(f"def {each}()") for each in re.findall(r"^def (\w+)\(\):", text, re.MULTILINE)}
    for number, line in enumerate(text.splitlines(), 1):
        if marked := re.search(r"# BREAKS (\S+) (\S+)( swallowed)?$", line):
            names.append(Planted(number, marked[1], marked[2], bool(marked[3])))
    lines = {name: text.count("\n", 0, at) + 1 for name, at in used.items() if name != "scaler"}
    for case in names:
        # the function that the line is in, or the first one behind the class that it is in
        inside = [name for name, begun in lines.items() if begun <= case.line]
        behind = [name for name, begun in lines.items() if begun > case.line]
        klass = text.rfind("\nclass ", 0, sum(len(each) + 1 for each in text.splitlines()[: case.line]))
        in_class = klass > used[inside[-1]] if inside else True
        found[behind[0] if in_class else inside[-1]] = case
    return found


def told(seen: Seen) -> tuple[NumericsReport, str]:
    trace = read_trace(seen.folder / "trace")
    assert trace.problems == []
    report = numerics(seen.events, trace, lambda path: Path(path).name)
    return report, never_settles(trace, summary(trace, {}, lambda path: path), report)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[tuple[str, str, bool], Seen], Path]:
    """Each program and its twin, with the instruments of a plain probe and with nothing but emulated CUDA."""
    folder = tmp_path_factory.mktemp("planted")
    keys = [(name, mode, plain) for name in planted() for mode in ("faulty", "mended") for plain in (False, True)]
    jobs = []
    for name, mode, plain in keys:
        command = f"python {PLANTED} {name} {mode} {folder}/{name}-{mode}-{plain}"
        jobs.append(Job(command, PLANTED.parent, INSTRUMENTS[:1] if plain else INSTRUMENTS))
    subject = Subject(PLANTED.parent, Path(sys.executable))
    return dict(zip(keys, run_jobs(subject, jobs, folder / "runs", parallel=2), strict=True)), folder


@pytest.mark.slow
def test_causes_are_found_where_they_are(runs: tuple[dict[tuple[str, str, bool], Seen], Path]) -> None:
    cases = planted()
    assert len(cases) == 24
    found = {}
    for name in cases:
        report, unstable = told(runs[0][name, "faulty", False])
        origins = [each.origin for each in report.bad_steps[:1]] or [each.origin for each in report.swallowed]
        first = next(filter(None, origins), None)
        if first is not None and (unstable or report.bad_steps):
            found[name] = Planted(first.line, first.operator, first.limit.value, not report.bad_steps)
    assert found == cases


@pytest.mark.slow
def test_twins_are_clean(runs: tuple[dict[tuple[str, str, bool], Seen], Path]) -> None:
    """Steps that the scaler skips while it looks for its scale are the only ones that are not finite."""
    for name in planted():
        report, unstable = told(runs[0][name, "mended", False])
        assert (name, unstable, report.swallowed, report.bad_losses) == (name, "", (), 0)
        assert [each for each in report.bad_steps if each.at_any_scale is not False] == []


@pytest.mark.slow
def test_no_loss_changes_by_a_digit(runs: tuple[dict[tuple[str, str, bool], Seen], Path]) -> None:
    for name, mode, plain in runs[0]:
        if not plain:
            with_and_without = [
                (runs[1] / f"{name}-{mode}-{each}").read_text(encoding="ascii") for each in (True, False)
            ]
            assert with_and_without[0]
            assert with_and_without[0] == with_and_without[1], (name, mode)
