"""What the stage says about honest suites: outcomes, places, reasons, attribution, and text fit for a report."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from verifygate.model import Check, ExecutionDetails, StageResult, Status

Run = Callable[..., StageResult]


def check(result: StageResult, name: str) -> Check:
    return next(check for check in result.checks if check.id == f"execution.{name}")


def details(result: StageResult) -> ExecutionDetails:
    assert isinstance(result.details, ExecutionDetails)
    return result.details


def test_a_green_suite_passes_every_required_check(run_suite: Run) -> None:
    """Two passing tests: nothing to complain about, and the command can be typed again."""
    result = run_suite("green")
    assert {check.status for check in result.checks} == {Status.PASS, Status.NOT_APPLICABLE}
    assert check(result, "tests-ran").actual == "2 collected, 2 started: 2 passed; exit code 0"
    assert details(result).command[:3] == ("python", "-m", "pytest")


def test_a_failure_points_at_its_line_and_at_the_fault(run_suite: Run) -> None:
    """Evidence holds the failing line of the test, the line of the project that raised, and the error."""
    evidence = check(run_suite("red"), "tests-pass").evidence
    assert [(one.path, one.line, one.summary.split("::")[1]) for one in evidence] == [
        ("test_suite.py", 18, "test_own_fault: AssertionError: the value is wrong"),
        ("test_suite.py", 23, "test_called_fault: KeyError: 'train_data'"),
        ("training.py", 5, "test_called_fault: raised here"),
        ("test_suite.py", 9, "test_fixture_fault: RuntimeError: no such fixture data"),
    ]


def test_a_test_has_the_line_of_its_definition(run_suite: Run) -> None:
    """The outcome says where the test is; a failing fixture makes it an error."""
    tests = details(run_suite("red")).tests
    assert [(test.line, test.outcome) for test in tests] == [
        (12, "passed"),
        (16, "failed"),
        (21, "failed"),
        (26, "error"),
    ]


def test_expected_failures_are_listed_and_strict_ones_fail(run_suite: Run) -> None:
    """xfail and xpass are shown with their reasons; a strict xpass is a failure."""
    result = run_suite("expected_failures")
    assert [(test.outcome, test.reason) for test in details(result).tests] == [
        ("failed", "[XPASS(strict)] must stay broken"),
        ("xfailed", "known fault"),
        ("xpassed", "thought to be broken"),
        ("passed", ""),
    ]
    assert check(result, "skipped").status is Status.PARTIAL
    assert check(result, "skipped").actual == "1 xfailed, 1 xpassed"


def test_unittest_and_its_subtests(run_suite: Run) -> None:
    """One failing subtest fails its test; expectedFailure and skip keep their meaning."""
    outcomes = {test.id.rpartition("::")[2]: test.outcome for test in details(run_suite("subtests")).tests}
    assert outcomes == {"test_all": "failed", "test_known": "xfailed", "test_skipped": "skipped"}


def test_a_module_skipped_as_a_whole_is_seen(run_suite: Run) -> None:
    """importorskip leaves no test behind to be counted, so the file itself is listed with the reason."""
    skipped = check(run_suite("module_skipped"), "skipped")
    assert skipped.evidence[0].summary == "test_suite.py: skipped (a_module_that_nobody_has is not installed)"


@pytest.mark.parametrize(
    ("suite", "required", "status", "said"),
    [
        ("green", ("test_suite.py::test_one",), Status.PASS, "1 of 1 ran and passed"),
        ("green", ("test_suite.py",), Status.PASS, "1 of 1 ran and passed"),
        ("green", ("test_suite.py::test_o",), Status.NOT_MEASURED, "not collected"),
        ("red", ("test_suite.py::test_own_fault",), Status.FAIL, "failed (AssertionError: the value is wrong)"),
        ("red", ("test_suite.py::test_fine", "test_gone.py"), Status.NOT_MEASURED, "1 of 2 ran and passed; test_gone"),
        ("all_skipped", ("test_suite.py::test_scaler",), Status.NOT_MEASURED, "skipped (needs a GPU)"),
        ("module_skipped", ("test_suite.py::test_hidden",), Status.NOT_MEASURED, "skipped as a whole"),
        ("expected_failures", ("test_suite.py::test_known_fault",), Status.FAIL, "xfailed (known fault)"),
        ("expected_failures", ("test_suite.py::test_passes_after_all",), Status.PARTIAL, "xpassed"),
        ("unimportable", ("test_suite.py::test_fine",), Status.FAIL, "error as a whole: NameError"),
    ],
)
def test_required_tests(run_suite: Run, suite: str, required: tuple[str, ...], status: Status, said: str) -> None:
    """A required test must run and pass; one that is skipped, or is not there, was not measured."""
    answer = check(run_suite(suite, required=required), "required-tests")
    assert answer.status is status
    assert said in answer.actual


def test_deprecated_amp_warnings_are_named_once_with_their_line(run_suite: Run) -> None:
    """The same warning from one place counts twice and is shown once; others are only counted."""
    result = run_suite("warns")
    warned = check(result, "warnings")
    assert (warned.status, warned.required) == (Status.PARTIAL, False)
    assert [(one.path, one.line) for one in warned.evidence] == [("test_suite.py", 7)]
    assert [(one.category, one.count) for one in details(result).warnings] == [("FutureWarning", 2), ("UserWarning", 1)]


def test_functions_are_attributed_to_the_tests_that_execute_their_bodies(run_suite: Run) -> None:
    """A `def` line that an import executes proves nothing; files with AMP or with a mark are followed."""
    result = details(run_suite("attributed"))
    assert result.attribution == ""
    assert {(one.path, one.symbol): [test.split("::")[1] for test in one.tests] for one in result.functions} == {
        ("amp_step.py", "step"): ["test_step[1]", "test_step[2]", "test_trainer"],
        ("amp_step.py", "untested"): [],
        ("amp_step.py", "Trainer.__init__"): ["test_empty_run", "test_trainer"],
        ("amp_step.py", "Trainer.run"): ["test_empty_run", "test_trainer"],
        ("amp_step.py", "Trainer.run.one"): ["test_trainer"],
        ("marked.py", "rate"): ["test_plain"],
    }


def test_requirement_marks_are_told(run_suite: Run) -> None:
    """`@pytest.mark.requirement` needs no registration in the project."""
    marks = {test.requirements for test in details(run_suite("attributed")).tests if "test_step" in test.id}
    assert marks == {("AMP-01",)}


@pytest.mark.parametrize(
    ("suite", "execution", "why"),
    [
        ("attributed", {"coverage": False}, "turned off by `execution.coverage = false`"),
        ("green", {}, "no audited file mentions AMP"),
        ("killed_amp", {}, "the run ended before its coverage was saved"),
        (
            "own_tracer",
            {},
            "the tests trace themselves (a debugger, or a coverage of their own), so the gate's trace ended",
        ),
    ],
)
def test_missing_attribution_says_why(run_suite: Run, suite: str, execution: dict[str, bool], why: str) -> None:
    """No attribution is never an empty one without a reason."""
    result = details(run_suite(suite, **execution))
    assert (result.functions, result.attribution) == ((), why)


def test_no_text_names_this_machine(run_suite: Run) -> None:
    """Paths, addresses and control codes from the tests do not reach the report."""
    result = run_suite("strange_words")
    text = result.model_dump_json(exclude={"details": {"output_tail"}})
    assert (
        check(result, "skipped")
        .evidence[0]
        .summary.endswith(
            "nothing at <temp>/tmp/pytest/pytest-0/test_path0/data, data or .../data: <object object at 0x...>)"
        )
    )
    assert not re.search(r"(?<!<temp>)/tmp/|/home/|/opt/|0x[0-9a-f]{6}|\\u001b", text)


@pytest.mark.parametrize("suite", ["red", "attributed", "strange_words"])
def test_two_runs_tell_the_same(run_suite: Run, suite: str) -> None:
    """Apart from volatile fields, the result of the same suite in another folder is the same."""
    volatile = {"details": {"output_tail": True, "tests": {"__all__": {"seconds"}}}}
    first = run_suite(suite).model_dump_json(exclude=volatile)
    again = run_suite(suite, copy=2).model_dump_json(exclude=volatile)
    assert first == again
