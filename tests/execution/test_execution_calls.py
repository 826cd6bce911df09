"""A conftest that bends the outcome of one named test only is found out; honest tests of every kind are believed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from verifygate.model import ExecutionDetails, StageResult, Status

Run = Callable[..., StageResult]
RAISED = "reported as passed although it raised AssertionError: assert 1 == 2"
NEVER = "reported as passed although its own function was never called"


def told(result: StageResult) -> dict[str, tuple[str, str]]:
    assert isinstance(result.details, ExecutionDetails)
    return {test.id.rpartition("::")[2]: (test.outcome, test.reason) for test in result.details.tests}


def status(result: StageResult, name: str) -> Status:
    return next(check.status for check in result.checks if check.id == f"execution.{name}")


@pytest.mark.parametrize(
    ("suite", "reason", "conftest"),
    [
        ("swallows_one_call", RAISED, "conftest.py"),
        ("swallows_one_function", RAISED, "conftest.py"),
        ("swallows_one_async", RAISED, "conftest.py"),
        ("wraps_one", RAISED, "conftest.py"),
        ("wraps_one_deeper", RAISED, "deep/conftest.py"),
        ("edits_one_report", RAISED, "conftest.py"),
        ("answers_for_one", NEVER, "conftest.py"),
        ("swaps_one", NEVER, "conftest.py"),
        ("reports_one_itself", NEVER, "conftest.py"),
    ],
)
def test_one_swallowed_failure_is_seen(run_suite: Run, suite: str, reason: str, conftest: str) -> None:
    """The other test passes as it should, the exit code is 0, and the bent one fails by name with its conftest."""
    result = run_suite(suite)
    assert told(result) == {
        "test_fine": ("passed", ""),
        "test_step": ("failed", f"{reason} (hooks between the test and its report: {conftest})"),
    }
    assert (status(result, "tests-ran"), status(result, "tests-pass")) == (Status.FAIL, Status.FAIL)


def test_unittest_failures_that_were_taken_away_are_seen(run_suite: Run) -> None:
    """What unittest noted in its result is seen before a hook can empty it, for a test and for a subtest."""
    assert {name: outcome for name, (outcome, _) in told(run_suite("swallows_one_unittest")).items()} == {
        "test_fine": "passed",
        "test_step": "failed",
        "test_sub": "failed",
    }


def test_a_swallowed_doctest_is_seen(run_suite: Run) -> None:
    """A test that is no function is watched where it runs."""
    result = run_suite("swallows_one_doctest", pytest=("--doctest-modules", "steps.py"))
    assert {name: outcome for name, (outcome, _) in told(result).items()} == {
        "steps.step": "failed",
        "steps.other": "passed",
    }


def test_swallowed_fixtures_are_seen(run_suite: Run) -> None:
    """A failure before the test, in its setup, and one after it, in the end of a fixture."""
    assert {
        name: reason.partition(" (")[0] for name, (_, reason) in told(run_suite("swallows_one_fixture")).items()
    } == {
        "test_step": RAISED,
        "test_needs": "reported as passed although it raised RuntimeError: no data",
    }


@pytest.mark.slow
def test_an_honest_suite_that_is_never_still_is_believed(run_suite: Run) -> None:
    """Odd ids, collectors and hooks of its own, processes, threads, signals, no clock, no folder, no output."""
    result = run_suite("restless")
    assert {outcome for outcome, _ in told(result).values()} == {"passed"}
    assert {
        name: status(result, name) for name in ("tests-ran", "tests-pass", "tests-collected", "tree-unchanged")
    } == {
        "tests-ran": Status.PASS,
        "tests-pass": Status.PASS,
        "tests-collected": Status.PASS,
        "tree-unchanged": Status.PASS,
    }


def test_honest_tests_of_every_kind_are_believed(run_suite: Run) -> None:
    """Async, hypothesis, mock, unittest, static and class methods, subtests, a plugin that runs a test again."""
    result = run_suite("unusual_tests")
    assert {outcome for outcome, _ in told(result).values()} == {"passed"}
    assert len(told(result)) == 13  # two names are in two classes
    assert status(result, "tests-ran") is Status.PASS
