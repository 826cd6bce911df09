"""What a failing test knows of a finding: it saw the fault, or failed for another reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from verifygate.merge.findings import merged
from verifygate.model import (
    Certainty,
    Check,
    Evidence,
    EvidenceClass,
    ExecutionDetails,
    Finding,
    FunctionCoverage,
    Outcome,
    Severity,
    StageResult,
    StaticDetails,
    Status,
    TestOutcome,
    Witness,
)

READ = Finding(
    rule="KEY101",
    name="missing-key",
    path="train.py",
    line=9,
    column=1,
    end_line=9,
    severity=Severity.CRITICAL,
    certainty=Certainty.CERTAIN,
    message="`env` has no key 'train_data'",
    fingerprint="0" * 16,
)


def found(*tests: TestOutcome, finding: Finding = READ) -> Finding:
    """The finding, merged with tests that all execute its function."""
    function = FunctionCoverage(
        path="train.py", symbol="fit", line=1, end_line=20, tests=tuple(test.id for test in tests)
    )
    execution = ExecutionDetails(tests=tests, functions=(function,))
    static = StageResult(stage="static", outcome=Outcome.COMPLETED, details=StaticDetails(), findings=(finding,))
    return merged((static, StageResult(stage="execution", outcome=Outcome.COMPLETED, details=execution)))[0].findings[0]


SKIPPED = TestOutcome(id="t::s", outcome="skipped", reason="no CUDA")


def test(name: str, reason: str = "", ended_at: str = "") -> TestOutcome:  # noqa: PT028 - no test itself
    return TestOutcome(id=name, outcome="failed" if reason else "passed", reason=reason, ended_at=ended_at)


test.__test__ = False  # type: ignore[attr-defined]


def test_a_test_that_fails_at_the_line_by_the_error_foretold_has_seen_it():
    seen = found(test("t::a"), test("t::b", "KeyError: 'train_data'", "train.py:9"))

    assert seen.witnesses == (Witness.STATIC, Witness.RUN)
    assert (seen.run, seen.untested) == ("seen in a test, which fails here: t::b: KeyError: 'train_data'", "")


def test_the_scalers_complaint_shows_its_rule_and_no_other():
    complaint = test("t::a", "RuntimeError: unscale_() has already been called on this optimizer", "train.py:9")

    assert Witness.RUN in found(complaint, finding=_of("AMP202")).witnesses
    assert Witness.RUN not in found(complaint, finding=_of("AMP201")).witnesses


@pytest.mark.parametrize(
    ("line", "said", "witnesses"),
    [
        (9, "entry 1: without any change the entry raised KeyError: 'train_data'", (Witness.STATIC, Witness.RUN)),
        (3, "entry 1: without any change the entry raised KeyError: 'train_data'", (Witness.STATIC,)),
        (9, "entry 1: no scaler guards this run", (Witness.STATIC,)),
    ],
)
def test_an_entry_that_ends_at_the_line_has_seen_it(line: int, said: str, witnesses: tuple[Witness, ...]):
    place = Evidence(id="E-1", kind=EvidenceClass.EXECUTED, summary=said, path="train.py", line=line)
    check = Check(id="execution.oracle-inf-injection", title="t", status=Status.FAIL, evidence=(place,))
    function = FunctionCoverage(path="train.py", symbol="fit", line=1, end_line=20, tests=())
    execution = ExecutionDetails(functions=(function,))
    ran = StageResult(stage="execution", outcome=Outcome.COMPLETED, details=execution, checks=(check,))
    static = StageResult(stage="static", outcome=Outcome.COMPLETED, details=StaticDetails(), findings=(READ,))

    (seen,) = merged((static, ran))[0].findings

    assert seen.witnesses == witnesses
    assert (seen.run == said) is (Witness.RUN in witnesses)
    assert seen.untested == "no test executes `fit`"


def _of(rule: str) -> Finding:
    return replace(READ, rule=rule)


@pytest.mark.parametrize(
    ("tests", "said"),
    [
        ((test("t::a", "KeyError: 'x'", "train.py:3"),), "`fit` is executed by 1 test that fails for another reason"),
        (
            (test("t::a"), test("t::b", "TypeError: x", "train.py:9"), test("t::c", "NameError: y", "a.py:1")),
            "one test executes `fit` and does not see it: t::a; and 2 tests that fail for another reason",
        ),
        ((SKIPPED,), "no test executes `fit` (1 skipped)"),  # it was entered, and skipped itself there
        ((test("t::a"), SKIPPED), "one test executes `fit` and does not see it: t::a"),
    ],
)
def test_a_test_that_fails_elsewhere_is_no_test_that_does_not_see_it(tests: tuple[TestOutcome, ...], said: str):
    finding = found(*tests)

    assert finding.untested.startswith(said)
    assert finding.witnesses == (Witness.STATIC,)
