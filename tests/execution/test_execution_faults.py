"""Suites that end, lie, crash, flood or hang: each must end in a check that is not PASS and names the culprit."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from verifygate.model import Check, ExecutionDetails, Outcome, StageResult, Status

Run = Callable[..., StageResult]


def check(result: StageResult, name: str) -> Check:
    return next(check for check in result.checks if check.id == f"execution.{name}")


def outcomes(result: StageResult) -> dict[str, str]:
    assert isinstance(result.details, ExecutionDetails)
    return {test.id.removeprefix("test_suite.py::"): test.outcome for test in result.details.tests}


def exit_code(result: StageResult) -> int | None:
    assert isinstance(result.details, ExecutionDetails)
    return result.details.exit_code


@pytest.mark.parametrize(
    ("suite", "said", "path", "line"),
    [
        ("exit_in_test", "the last test started is test_suite.py::test_leaves: exit code 0", "test_suite.py", 10),
        ("exit_at_import", "while pytest loaded test_suite.py: exit code 0", None, None),
        ("exit_in_conftest", "while pytest loaded plugins and conftest files: exit code 0", None, None),
        ("exit_after_session", "exit code 0 although 1 test did not pass", "test_suite.py", 2),
        ("polite_exit", "1 of 3 collected tests never started: Exit: bye", "test_suite.py", 10),
        ("killed", "the last test started is test_suite.py::test_is_killed: killed by SIGKILL", "test_suite.py", 11),
        ("segfault", "the last test started is test_suite.py::test_crashes: killed by SIGSEGV", "test_suite.py", 10),
        ("lying_conftest", "exit code 0 although 2 tests did not pass", "test_suite.py", 5),
        ("swallowing_call", "a test made to fail was not reported as failed in tests", None, None),
        ("swallowing_function", "a test made to fail was not reported as failed in tests", None, None),
        ("forger", "holds 1 line that the plugin did not write", None, None),
        ("unimportable", "could not be collected: test_suite.py (NameError: ", "training.py", 3),
        ("broken_conftest", "pytest ended while it imported conftest.py (", "conftest.py", 3),
    ],
)
def test_a_run_that_is_not_what_it_seems_fails(
    run_suite: Run, suite: str, said: str, path: str | None, line: int | None
) -> None:
    """Whatever the exit code says, `tests-ran` fails, says what happened, and points at the line to look at."""
    ran = check(run_suite(suite), "tests-ran")
    assert ran.status is Status.FAIL
    assert said in ran.actual
    assert ran.remedy
    assert (ran.evidence[0].path, ran.evidence[0].line) == (path, line)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nowhere",), "file or directory not found: nowhere"),
        (("--no-such-option",), "unrecognized arguments: --no-such-option"),
    ],
)
def test_what_pytest_refuses_is_told_in_its_words(run_suite: Run, arguments: tuple[str, ...], said: str) -> None:
    ran = check(run_suite("green", pytest=arguments), "tests-ran")
    assert ran.status is Status.FAIL
    assert said in ran.actual
    assert "`execution.pytest`" in ran.remedy


@pytest.mark.parametrize("suite", ["swallowing_call", "forger"])
def test_what_cannot_be_believed_is_not_measured(run_suite: Run, suite: str) -> None:
    """Where failures are swallowed or the account is written by others, passing tests prove nothing."""
    result = run_suite(suite, required=("tests",) if suite == "swallowing_call" else ("test_suite.py",))
    assert check(result, "tests-pass").status is Status.NOT_MEASURED
    assert check(result, "required-tests").status is Status.NOT_MEASURED


def test_honest_hooks_are_not_suspected(run_suite: Run) -> None:
    """Hooks that the canary does not suit stay unharmed by it, and session fixtures are set up once."""
    result = run_suite("busy_conftest")
    assert check(result, "tests-ran").status is Status.PASS
    assert outcomes(result) == {"test_fixtures_are_set_up_once": "passed", "test_slow_thing": "skipped"}


def test_a_hang_is_ended_and_named(run_suite: Run) -> None:
    """The time limit ends the run and its children; the test that hung is the culprit."""
    result = run_suite("hang", seconds=600.0, until="hangs")
    ran = check(result, "tests-ran")
    assert ran.status is Status.FAIL
    assert "test_suite.py::test_hangs: stopped at its time limit of 600 s" in ran.actual
    assert outcomes(result) == {"test_fine": "passed", "test_hangs": "started"}


@pytest.mark.parametrize("suite", ["exit_in_test", "polite_exit", "exit_after_session", "lying_conftest"])
def test_a_failure_stays_a_failure_when_the_exit_code_is_0(run_suite: Run, suite: str) -> None:
    """The failed test is reported by name and line although pytest's own process ended with 0."""
    result = run_suite(suite)
    failed = check(result, "tests-pass")
    assert exit_code(result) == 0
    assert failed.status is Status.FAIL
    assert "test_suite.py::test_fails" in failed.evidence[0].summary
    assert failed.evidence[0].line == {"exit_in_test": 7, "polite_exit": 7, "exit_after_session": 2}.get(suite, 5)


def test_a_report_that_was_bent_is_shown_with_what_was_raised(run_suite: Run) -> None:
    """A conftest that turns failures into passes is found out, for plain tests and for unittest's."""
    reasons = [evidence.summary for evidence in check(run_suite("lying_conftest"), "tests-pass").evidence]
    assert [reason.split(": ", 1)[1] for reason in reasons] == [
        f"reported as passed although it raised AssertionError: {what} "
        "(hooks between the test and its report: conftest.py)"
        for what in ("assert 1 == 2", "1 != 2")
    ]


@pytest.mark.parametrize("suite", ["collect_only", "keyword_in_addopts"])
def test_addopts_cannot_hide_a_failure(run_suite: Run, suite: str) -> None:
    """`--co` and `-k` in the project's addopts are put aside: all tests run, and the failing one is seen."""
    result = run_suite(suite)
    assert outcomes(result) == {"test_fine": "passed", "test_fails": "failed"}
    assert check(result, "tests-pass").status is Status.FAIL


def test_options_that_select_nothing_still_hold(run_suite: Run) -> None:
    """The import mode and the plugin in addopts, without which these tests cannot run, come back as arguments."""
    result = run_suite("needs_its_addopts")
    assert check(result, "tests-ran").status is Status.PASS
    assert isinstance(result.details, ExecutionDetails)
    assert result.details.command[-4:] == ("--import-mode=importlib", "-p", "house_plugin", "checks")


def test_nothing_but_skips_is_not_a_pass(run_suite: Run) -> None:
    """A suite that skips everything ends with exit code 0 and proves nothing."""
    result = run_suite("all_skipped")
    assert exit_code(result) == 0
    assert check(result, "tests-ran").status is Status.NOT_MEASURED
    assert check(result, "tests-pass").status is Status.NOT_MEASURED
    assert "2 of the skipped for want of CUDA" in check(result, "skipped").actual
    assert check(result, "skipped").evidence[0].line == 6


def test_files_without_tests_are_not_a_pass(run_suite: Run) -> None:
    """Collecting nothing is NOT MEASURED."""
    ran = check(run_suite("no_tests"), "tests-ran")
    assert (ran.status, ran.actual.split(" (")[0]) == (Status.NOT_MEASURED, "no test was collected")


def test_what_the_gates_owner_deselects_is_counted(run_suite: Run) -> None:
    """Options from the gate's own configuration hold, and what they leave out is said."""
    result = run_suite("keyword_in_addopts", pytest=("-k", "fine"), required=("test_suite.py",))
    assert check(result, "tests-ran").status is Status.PASS
    assert check(result, "skipped").actual == "1 deselected"
    assert check(result, "skipped").evidence[0].summary == "test_suite.py::test_fails: deselected"
    assert check(result, "required-tests").status is Status.NOT_MEASURED
    assert "test_suite.py::test_fails did not run" in check(result, "required-tests").actual


def test_collecting_only_is_never_a_pass(run_suite: Run) -> None:
    """With `--co` in the gate's own configuration nothing starts, and the check says so."""
    ran = check(run_suite("collect_only", pytest=("--co",)), "tests-ran")
    assert (ran.status, "2 of 2 collected tests never started" in ran.actual) == (Status.FAIL, True)


def test_a_flood_of_output_changes_nothing(run_suite: Run) -> None:
    """20 MB of forged summaries are neither believed nor kept."""
    result = run_suite("loud", pytest=("-s", "."))
    assert isinstance(result.details, ExecutionDetails)
    assert outcomes(result) == {"test_shouts": "passed", "test_fails": "failed"}
    assert "bytes left out" in (result.details.output_tail or "")
    assert len(result.details.output_tail or "") < 40_000


def test_a_child_left_behind_does_not_hold_the_gate_up(run_suite: Run) -> None:
    """A grandchild that keeps the output open for ten minutes is ended with its group."""
    assert check(run_suite("grandchild"), "tests-ran").status is Status.PASS


def test_a_thread_left_behind_is_said_and_ended(run_suite: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that nobody joins cannot hold the process open; the results stand and the report says so."""
    monkeypatch.setattr("verifygate.execution.session.LINGER_SECONDS", 0.3)
    ran = check(run_suite("lingering_thread"), "tests-ran")
    assert ran.status is Status.PASS
    assert "a thread kept it alive" in ran.actual


def test_sources_changed_by_the_tests_fail(run_suite: Run) -> None:
    """A test that rewrites an audited file makes the rest of the report worthless, so it blocks."""
    unchanged = check(run_suite("edits_sources"), "tree-unchanged")
    assert (unchanged.status, unchanged.evidence[0].path) == (Status.FAIL, "training.py")


def test_no_tests_at_all_is_not_applicable(run_suite: Run) -> None:
    """A project without tests is told how to name them."""
    result = run_suite("nothing")
    assert result.outcome is Outcome.NOT_APPLICABLE
    assert result.reason == ("not configured: add tests, or name commands that train in `execution.oracles.entries`")


def test_a_test_that_a_hook_takes_away_is_counted_as_deselected(run_suite: Run) -> None:
    """A conftest that edits the list says nothing to pytest; the account says which test is gone."""
    result = run_suite("quiet_removal", required=("test_suite.py::test_bad",))
    assert isinstance(result.details, ExecutionDetails)
    assert result.details.deselected == 1
    assert check(result, "required-tests").status is Status.NOT_MEASURED
    assert check(result, "skipped").status is Status.PARTIAL


def test_a_run_in_which_nothing_passes_is_no_pass(run_suite: Run) -> None:
    """Only expected failures: none failed, and none passed either."""
    assert check(run_suite("only_expected_failures"), "tests-pass").status is Status.NOT_MEASURED
