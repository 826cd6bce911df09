"""Tests that skip for want of CUDA run again with CUDA emulated: what counts for the code, against it, or not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from verifygate.model import Check, EmulatedTest, EvidenceClass, ExecutionDetails, StageResult, Status
from verifygate.requirements.facts import Facts
from verifygate.requirements.queries import Query
from verifygate.requirements.test_answers import named

Run = Callable[..., StageResult]

STANDINGS = {
    "test_live_scaler": ("passed", ""),
    "test_operator_policy[torch.float16]": ("passed", ""),
    "test_operator_policy[torch.bfloat16]": ("passed", ""),
    "test_in_a_file_that_is_skipped": ("passed", ""),
    "test_bug_in_the_code": ("failed", "can't convert cuda:0 device type tensor to numpy"),
    "test_refused_by_autocast": ("failed", "unsafe to autocast"),
    "test_crashes_beside_a_figure": ("failed", "KeyError: 'peek'"),
    "test_passes_on_a_figure": ("not measured", "passed, but used what is not emulated: memory (every figure is 0"),
    "test_fails_on_a_figure": ("not measured", "the cause may be what is not emulated: memory"),
    "test_times_something": ("not measured", "time (Event.elapsed_time is NaN"),
    "test_waits_and_fails": ("not measured", "waiting for the device"),
    "test_graphs": ("not measured", "graphed callables (raises"),
    "test_kernel_that_only_cuda_has": ("not measured", "that is a limit of the emulation"),
    "test_two_devices": ("not measured", "skipped: needs two GPUs"),
}


def emulated(result: StageResult) -> dict[str, EmulatedTest]:
    assert isinstance(result.details, ExecutionDetails)
    return {one.id.rpartition("::")[2]: one for one in result.details.emulated}


def check(result: StageResult, name: str = "execution.emulated") -> Check:
    return next(check for check in result.checks if check.id == name)


@pytest.mark.slow
def test_exactly_what_was_skipped_for_want_of_cuda_runs_again(run_suite: Run) -> None:
    """Neither what ran, nor what was skipped for another reason; a whole file's tests as well."""
    assert sorted(emulated(run_suite("wants_cuda"))) == sorted(STANDINGS)


@pytest.mark.slow
@pytest.mark.parametrize("name", STANDINGS)
def test_a_test_stands_as_the_rule_says(run_suite: Run, name: str) -> None:
    """A pass that used what is not emulated proves nothing; a failure counts where nothing stands in its way."""
    one, (standing, reason) = emulated(run_suite("wants_cuda"))[name], STANDINGS[name]
    assert one.standing == standing
    assert reason in one.reason
    assert bool(one.reason) == (standing != "passed")


@pytest.mark.slow
def test_a_failure_blocks_and_names_its_line(run_suite: Run) -> None:
    found = check(run_suite("wants_cuda"))
    assert (found.status, found.required) == (Status.FAIL, True)
    first = found.evidence[0]
    assert first.kind is EvidenceClass.EMULATED
    assert (first.path, first.line) == ("test_suite.py", 42)
    assert "failed under emulation" in first.summary


@pytest.mark.slow
def test_the_recorder_follows_it(run_suite: Run) -> None:
    """The scaler is live: it scaled, stepped, and left one step out."""
    result = run_suite("wants_cuda")
    assert isinstance(result.details, ExecutionDetails)
    trace = result.details.emulated_trace
    assert trace is not None
    assert (trace.steps, trace.skipped, trace.scale_max, trace.scale_min) == (2, 1, 256.0, 128.0)


@pytest.mark.slow
def test_the_first_run_is_told_as_it_was(run_suite: Run) -> None:
    """What emulation shows is told apart: the tests stay skipped, and one that is required stays not measured."""
    result = run_suite("wants_cuda", required=("test_suite.py::test_live_scaler",))
    assert isinstance(result.details, ExecutionDetails)
    assert sum(test.outcome == "skipped" for test in result.details.tests) == 15
    assert check(result, "execution.required-tests").status is Status.NOT_MEASURED


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "status", "kind"),
    [
        ("test_suite.py::test_live_scaler", Status.PASS, EvidenceClass.EMULATED),
        ("test_suite.py::test_bug_in_the_code", Status.FAIL, EvidenceClass.EMULATED),
        ("test_suite.py::test_passes_on_a_figure", Status.NOT_MEASURED, EvidenceClass.EMULATED),
        ("test_whole_file.py", Status.PASS, EvidenceClass.EMULATED),
        ("test_suite.py::test_anywhere", Status.PASS, EvidenceClass.EXECUTED),
    ],
)
def test_a_requirement_is_met_by_it_only_as_emulated(
    run_suite: Run, asked: str, status: Status, kind: EvidenceClass
) -> None:
    answer = named(Query(test=asked), Facts({"execution": run_suite("wants_cuda")}))
    assert (answer.status, {cite.kind for cite in answer.cites}) == (status, {kind})
    assert ("with CUDA emulated" in answer.actual) == (kind is EvidenceClass.EMULATED)


def test_it_can_be_turned_off(run_suite: Run) -> None:
    """Then what was skipped is not measured, and says how to measure it."""
    found = check(run_suite("all_skipped", emulate_cuda=False))
    assert (found.status, found.required) == (Status.NOT_MEASURED, False)
    assert "turned off by `execution.emulate_cuda = false`" in found.actual


def test_a_project_that_never_imports_torch_says_so(run_suite: Run) -> None:
    found = check(run_suite("all_skipped"))
    assert found.status is Status.NOT_MEASURED
    assert "never imported torch" in found.actual


def test_nothing_is_run_again_where_nothing_was_skipped(run_suite: Run) -> None:
    assert check(run_suite("green")).status is Status.NOT_APPLICABLE
