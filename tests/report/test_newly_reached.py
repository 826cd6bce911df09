"""What a run shows of code that the earlier run never came to is newly reached, and not known to be new."""

from __future__ import annotations

from dataclasses import replace

import pytest
import report_sample

from verifygate import report_comparison
from verifygate.model import ExecutionDetails, Finding, FunctionCoverage, Report, StageResult, Witness

FOUND = next(each for stage in report_sample.report().stages for each in stage.findings)
SEEN = replace(FOUND, witnesses=(Witness.RUN,), fingerprint="f" * 16, places=())


def with_run(*findings: Finding, executed: bool) -> Report:
    """A report whose tests executed the function around the finding, or did not."""
    function = FunctionCoverage(
        path=SEEN.path, symbol=SEEN.symbol, line=1, end_line=999, tests=("t::a",) if executed else ()
    )
    sample = report_sample.report()
    stages = (
        _execution(sample, findings, function),
        *(stage for stage in sample.stages if not isinstance(stage.details, ExecutionDetails)),
    )
    return sample.model_copy(update={"stages": stages})


def _execution(sample: Report, findings: tuple[Finding, ...], function: FunctionCoverage) -> StageResult:
    stage = next(each for each in sample.stages if isinstance(each.details, ExecutionDetails))
    details = ExecutionDetails(functions=(function,))
    return stage.model_copy(update={"findings": findings, "details": details})


@pytest.mark.parametrize(("executed", "group"), [(True, "new"), (False, "newly reached")])
def test_what_a_run_shows(executed: bool, group: str):
    changed = report_comparison.changes(with_run(SEEN, executed=True), with_run(executed=executed))

    assert [name for name, found in changed.groups() if SEEN in found] == [group]


@pytest.mark.parametrize(("executed", "group"), [(True, "fixed"), (False, "cannot tell")])
def test_what_no_run_shows_any_more(executed: bool, group: str):
    changed = report_comparison.changes(with_run(executed=executed), with_run(SEEN, executed=True))

    assert [name for name, found in changed.groups() if SEEN in found] == [group]
