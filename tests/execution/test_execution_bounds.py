"""What a run may take, and what it may leave behind: time, memory, processes, files, the environment, a second try."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from verifygate.model import Check, ExecutionDetails, StageResult, Status

Run = Callable[..., StageResult]
LAST_OF_MANY = ("test_suite.py::test_takes_its_time[999]",)
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="processes are followed and limited on Linux only")


def check(result: StageResult, name: str) -> Check:
    return next(check for check in result.checks if check.id == f"execution.{name}")


def outcomes(result: StageResult) -> dict[str, tuple[str, str | None]]:
    assert isinstance(result.details, ExecutionDetails)
    return {test.id.rpartition("::")[2]: (test.outcome, test.again) for test in result.details.tests}


def test_a_flaky_test_is_flaky_and_never_a_pass(run_suite: Run) -> None:
    """It failed in the run and passed alone in a fresh process: both are told, and no check is green by it."""
    result = run_suite("flaky", required=("test_suite.py::test_depends_on_order",))
    assert outcomes(result) == {
        "test_leaves_a_trace": ("passed", None),
        "test_depends_on_order": ("flaky", "passed"),
        "test_fine": ("passed", None),
    }
    assert check(result, "tests-pass").status is Status.PARTIAL
    assert check(result, "tests-pass").evidence[0].summary == (
        "test_suite.py::test_depends_on_order: failed in the run (AssertionError: assert not [1]), "
        "passed alone in a fresh process"
    )
    assert check(result, "required-tests").status is Status.PARTIAL
    assert check(result, "tests-ran").status is Status.PASS


def test_a_test_that_fails_twice_is_broken(run_suite: Run) -> None:
    """The second try clears the flaky one only."""
    result = run_suite("flaky_and_red")
    assert outcomes(result)["test_depends_on_order"] == ("flaky", "passed")
    assert outcomes(result)["test_fails"] == ("failed", "failed")
    assert check(result, "tests-pass").status is Status.FAIL


def test_a_second_try_can_be_turned_off(run_suite: Run) -> None:
    """Then a test that failed has failed."""
    result = run_suite("flaky", retry=False)
    assert outcomes(result)["test_depends_on_order"] == ("failed", None)
    assert check(result, "tests-pass").status is Status.FAIL


def test_a_forged_junit_file_changes_nothing(run_suite: Run) -> None:
    """The project's configuration asks for one; neither the option nor the file is heeded."""
    result = run_suite("forged_junit")
    assert outcomes(result) == {"test_fine": ("passed", None), "test_fails": ("failed", "failed")}
    assert check(result, "tests-pass").status is Status.FAIL
    assert check(result, "tests-ran").status is Status.PASS


@pytest.mark.parametrize("option", [("--junitxml=report.xml",), ("--junit-xml", "report.xml")])
def test_a_junit_file_that_tells_another_story_is_said(run_suite: Run, option: tuple[str, ...]) -> None:
    """Where the gate's own configuration asks for the file, it must tell the same as the run."""
    ran = check(run_suite("forged_junit", pytest=(*option, ".")), "tests-ran")
    assert ran.status is Status.FAIL
    assert "the JUnit file report.xml tells of 0 failures and errors, the run itself of 1" in ran.actual
    assert check(run_suite("honest_junit", pytest=(*option, ".")), "tests-ran").status is Status.PASS


def test_a_hanging_test_is_shown_with_the_line_it_stands_at(run_suite: Run) -> None:
    """The time limit of the whole run: the test, the line of the project, and nothing after it."""
    ran = check(run_suite("hang_in_library", seconds=600.0, until="hangs"), "tests-ran")
    assert ran.status is Status.FAIL
    assert "test_suite.py::test_hangs: stopped at its time limit of 600 s, at training.py:7" in ran.actual
    assert (ran.evidence[0].path, ran.evidence[0].line) == ("training.py", 7)


def test_one_test_has_a_time_limit_of_its_own(run_suite: Run) -> None:
    """The run ends at the test, long before its own limit."""
    ran = check(run_suite("hang_in_library", test_seconds=3.0), "tests-ran")
    assert ran.status is Status.FAIL
    assert "test_hangs: stopped at the time limit of one test, 3 s, at training.py:7" in ran.actual


def test_a_run_that_is_only_slow_is_not_measured(run_suite: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing hangs and nothing failed, but the time did not suffice: nobody knows what the rest would do.

    The clock jumps to the limit once some tests have passed; the one that it jumps in must not count as hanging.
    """
    monkeypatch.setattr("verifygate.execution.run_integrity.SLOW_SHARE", 1.0)
    _is_not_measured(run_suite("slow_but_fine", seconds=600.0, until="some_passed", required=LAST_OF_MANY))


@pytest.mark.slow
def test_a_run_that_is_only_slow_is_told_from_one_that_hangs(run_suite: Run) -> None:
    """The same by the real clock, for half a minute: no single test took much of it."""
    _is_not_measured(run_suite("slow_but_fine", seconds=30.0, required=LAST_OF_MANY))


def _is_not_measured(result: StageResult) -> None:
    assert check(result, "tests-ran").status is Status.NOT_MEASURED
    assert check(result, "tests-ran").actual.startswith("time is up: ")
    assert check(result, "tests-pass").status is Status.NOT_MEASURED
    assert check(result, "required-tests").status is Status.NOT_MEASURED


@linux_only
def test_a_daemon_that_a_test_leaves_is_named(run_suite: Run) -> None:
    """It left the session and the environment, and is found and ended; the tests passed all the same."""
    ran = check(run_suite("daemon"), "tests-ran")
    assert ran.status is Status.PASS
    assert "1 process left behind and ended: " in ran.actual
    assert "import time; time.sleep(600)" in ran.actual


@linux_only
def test_a_test_that_takes_too_much_memory_fails_by_name(run_suite: Run) -> None:
    """Its neighbours and the gate go on."""
    assert outcomes(run_suite("memory_hog", memory_mib=1024)) == {
        "test_fine": ("passed", None),
        "test_hoards": ("failed", "failed"),
    }


def test_sources_that_come_and_go_are_noticed(run_suite: Run) -> None:
    """A module that was removed fails the check as a changed one does, one that was added is named beside it."""
    unchanged = check(run_suite("adds_sources"), "tree-unchanged")
    assert unchanged.status is Status.FAIL
    assert unchanged.actual == "changed or removed: unused.py; added: generated.py"
    only = check(run_suite("only_adds"), "tree-unchanged")
    assert (only.status, only.actual) == (Status.PARTIAL, "added: generated.py")


def test_a_commit_during_the_run_matters_to_nobody(run_suite: Run) -> None:
    """The audited files are what they were, whatever the branch now stands at."""
    result = run_suite("moves_the_branch", git=True)
    assert (check(result, "tests-ran").status, check(result, "tree-unchanged").status) == (Status.PASS, Status.PASS)


def test_the_environment_of_the_person_stays_out(run_suite: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Options for Python and pytest and secrets do not reach the tests; what the configuration names does."""
    for name in ("PYTEST_PLUGINS", "SECRET_TOKEN", "PYTHONOPTIMIZE"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-k nothing")
    monkeypatch.setenv("PYTHONWARNINGS", "error")
    monkeypatch.setenv("DATA_DIR", "here")
    result = run_suite("sees_the_environment", pass_env=("DATA_DIR",))
    assert {outcome for outcome, _ in outcomes(result).values()} == {"passed"}
    assert result.environment["variables passed on"] == "DATA_DIR"
    assert check(result, "tests-ran").status is Status.PASS
