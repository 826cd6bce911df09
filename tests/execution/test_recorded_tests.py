"""The recorder in the project's own test run: what audited code does is judged, what tests do is not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from verifygate.merge import merged
from verifygate.model import (
    Certainty,
    ExecutionDetails,
    Finding,
    Outcome,
    Severity,
    StageResult,
    StaticDetails,
    Status,
    Suppression,
    TraceSummary,
    Visit,
    Witness,
)

pytest.importorskip("torch")
Run = Callable[..., StageResult]


@pytest.fixture(scope="module")
def result(run_suite: Run) -> StageResult:
    return run_suite("recorded", seconds=900.0, coverage=False)


def check(result: StageResult):
    return next(check for check in result.checks if check.id == "execution.trace")


def test_only_the_loop_of_the_project_is_a_finding(result: StageResult):
    assert [(each.rule, each.line) for each in result.findings] == [("AMP201", 34)]
    (finding,) = result.findings
    assert (finding.rule, finding.path, finding.line, finding.symbol) == ("AMP201", "loop.py", 34, "train")
    assert finding.certainty is Certainty.CERTAIN
    assert finding.witnesses == (Witness.RUN,)
    assert [detail.values for detail in finding.details] == [("test_loop.py::test_the_wrong_loop_of_the_project",)]
    assert check(result).status is Status.FAIL
    assert check(result).actual == "1 violation: AMP201 at loop.py:34"


def test_the_run_in_figures(result: StageResult):
    assert isinstance(result.details, ExecutionDetails)
    trace = result.details.trace
    assert trace is not None
    assert (trace.steps, trace.skipped, trace.dropped, trace.problems) == (12, 0, 0, ())
    assert {each.scale for each in trace.scales} == {8.0}  # what each was made with; no update changed it
    assert trace.devices == ("cpu float16",)
    assert Visit(path="loop.py", line=42, event="clip", times=3) in trace.visits


def test_the_orders_in_which_the_project_steps(result: StageResult):
    """What a test alone put in order is left out, and so is a window in which something raised."""
    assert isinstance(result.details, ExecutionDetails)
    assert result.details.trace is not None
    own = result.details.trace.own
    assert own is not None
    assert [(order.events, order.times) for order in own.orders] == [
        (("autocast", "scale", "backward", "clip", "step", "update"), 3),
        (("autocast", "scale", "backward", "unscale", "clip", "step", "update"), 6),
    ]
    assert {(order.path, order.line) for order in own.orders} == {("loop.py", 24)}
    assert own.regions == ("cpu float16",)
    assert dict(own.counts)["scaler.step"] == 12  # 9 of `train` and `train_right`, 3 of tests that call its methods


def test_a_rule_that_is_off_is_off_here_too(run_suite: Run):
    result = run_suite("green", recorder=False)
    assert check(result).status is Status.NOT_APPLICABLE


def test_a_suite_without_amp_has_nothing_to_record(run_suite: Run):
    assert check(run_suite("green")).status is Status.NOT_APPLICABLE


# -- one finding, two witnesses --------------------------------------------------------------------------------------


def found(line: int = 5, *, witness: Witness = Witness.STATIC, certainty: Certainty = Certainty.CERTAIN) -> Finding:
    return Finding(
        rule="AMP201",
        name="clip-before-unscale",
        path="loop.py",
        line=line,
        column=1,
        end_line=line + (2 if witness is Witness.STATIC else 0),
        severity=Severity.CRITICAL,
        certainty=certainty,
        message="clipped",
        fingerprint=f"{witness}{line}",
        witnesses=(witness,),
        run="seen in a run: event 8, step 1" if witness is Witness.RUN else "",
    )


def stages(
    static: Finding | None, run: Finding | None, visits=(), suppressions=(), idle=()
) -> tuple[StageResult, StageResult]:
    execution, source = merged(
        [
            StageResult(
                stage="execution",
                outcome=Outcome.COMPLETED,
                findings=(run,) if run else (),
                details=ExecutionDetails(trace=TraceSummary(visits=tuple(visits))),
            ),
            StageResult(
                stage="static",
                outcome=Outcome.COMPLETED,
                findings=(static,) if static else (),
                details=StaticDetails(suppressions=tuple(suppressions), idle_suppressions=tuple(idle)),
            ),
        ]
    )
    return execution, source


def test_a_breach_seen_twice_is_one_finding():
    execution, static = stages(found(5), found(6, witness=Witness.RUN))
    (finding,) = static.findings
    assert execution.findings == ()
    assert finding.witnesses == (Witness.STATIC, Witness.RUN)
    assert finding.fingerprint == found(5).fingerprint
    assert finding.run == "seen in a run: event 8, step 1"


def test_a_likely_one_becomes_certain():
    _, static = stages(found(certainty=Certainty.LIKELY), found(witness=Witness.RUN))
    (finding,) = static.findings
    assert finding.certainty is Certainty.CERTAIN
    assert finding.run == "likely by the source alone, and seen in a run: event 8, step 1"


def test_elsewhere_is_another_finding():
    execution, static = stages(found(5), found(9, witness=Witness.RUN))
    assert [each.line for each in (*execution.findings, *static.findings)] == [9, 5]


@pytest.mark.parametrize(
    ("certainty", "visit", "words"),
    [
        (
            Certainty.LIKELY,
            Visit(path="loop.py", line=6, event="clip", times=4),
            "a recorded run passed here 4 times without the violation",
        ),
        (Certainty.LIKELY, Visit(path="loop.py", line=6, event="update", times=4), ""),
        (Certainty.LIKELY, Visit(path="other.py", line=6, event="clip", times=4), ""),
        (Certainty.CERTAIN, Visit(path="loop.py", line=6, event="clip", times=4), ""),
    ],
)
def test_a_likely_one_that_a_run_passed_says_so(certainty: Certainty, visit: Visit, words: str):
    _, static = stages(found(certainty=certainty), None, visits=[visit])
    (finding,) = static.findings
    assert (finding.run, finding.certainty) == (words, certainty)


def test_a_silenced_breach_stays_silent():
    silence = Suppression(
        path="loop.py", line=4, rule="AMP201", reason="on purpose", finding="loop.py:5 clipped before"
    )
    execution, _ = stages(None, found(witness=Witness.RUN), suppressions=[silence])
    assert execution.findings == ()


@pytest.mark.parametrize("covers", [5, 6])
def test_a_comment_silences_what_only_a_run_shows(covers: int):
    """It stands beside what it silences; one that is about another line stays idle, and the finding stays."""
    comment = Suppression(path="loop.py", line=4, rule="AMP201", reason="on purpose", finding="", covers=covers)
    execution, static = stages(None, found(5, witness=Witness.RUN), idle=[comment])
    assert isinstance(static.details, StaticDetails)
    used = [each.finding for each in static.details.suppressions]
    if covers == 5:
        assert (execution.findings, static.details.idle_suppressions) == ((), ())
        assert used == ["loop.py:5 clipped (seen in a run: event 8, step 1)"]
    else:
        assert [each.line for each in execution.findings] == [5]
        assert (used, static.details.idle_suppressions) == ([], (comment,))


# -- where CUDA is emulated ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_what_skips_for_want_of_cuda_is_recorded_where_it_runs(run_suite: Run):
    result = run_suite("recorded_cuda", seconds=900.0)
    assert [(each.rule, each.line) for each in result.findings] == [("AMP201", 13)]
    assert result.findings[0].run.startswith("with CUDA emulated, seen in a run: event")
    assert check(result).status is Status.FAIL
    assert isinstance(result.details, ExecutionDetails)
    assert {each.symbol: (each.tests, each.emulated) for each in result.details.functions}["train"] == (
        (),
        ("test_loop.py::test_train",),
    )
    (stage,) = merged([result])
    assert [each.untested for each in stage.findings] == [
        "only emulated tests execute `train`, and do not see it: test_loop.py::test_train"
    ]
