"""Completeness of the results: each selected rule, test and requirement has one answer, and no more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from verifygate.merge.inputs import Inputs, Results, named
from verifygate.model import Contradiction, Status


def rules_answered(results: Results, inputs: Inputs) -> Iterator[Contradiction]:
    """Every rule that was selected has a check of the static stage."""
    stage = results.stage("static")
    if stage is None:
        return
    answered = {check.id.removeprefix("static.") for check in stage.checks}
    if silent := sorted(inputs.rules - answered):
        yield Contradiction(
            name="rule-unanswered",
            stages=("static",),
            text=f"selected, and without an answer: {named(silent)}",
            stands="an answer that is missing is no PASS",
            blocks=True,
            action="report this: a rule that was selected did not run",
        )


def tests_answered(results: Results, _inputs: Inputs) -> Iterator[Contradiction]:
    """Every test that was collected has an outcome."""
    details, ran = results.execution, results.checks.get("execution.tests-ran")
    if details is None or ran is None or ran.status is not Status.PASS:
        return
    answered = len({test.id for test in details.tests})
    if answered < details.collected:
        yield Contradiction(
            name="test-unanswered",
            stages=("execution",),
            text=f"{details.collected} tests were collected, and {answered} have an outcome",
            stands="a test without an outcome has not passed",
            lowers=("execution.tests-ran", "execution.tests-pass"),
            to=Status.NOT_MEASURED,
            action="give every test an id of its own, and run the gate again",
        )


def requirements_answered(results: Results, inputs: Inputs) -> Iterator[Contradiction]:
    """Every requirement of the specification has one row and one check, and there are no others."""
    details, specification = results.requirements, inputs.specification
    if details is None or specification is None:
        return
    asked = [each.id for each in specification.spec.requirements]
    rows = Counter(row.id for row in details.requirements)
    wrong = [each for each in asked if rows[each] != 1 or f"requirements.{each}" not in results.checks]
    wrong += sorted(rows.keys() - set(asked))
    if wrong:
        yield Contradiction(
            name="requirement-unanswered",
            stages=("requirements",),
            text=f"the specification and the matrix do not name the same requirements, once each: {named(wrong)}",
            stands="a requirement without a row is not met",
            blocks=True,
            path=specification.path,
            line=1,
            action="report this: the matrix must hold every requirement once",
        )


def answers_once(results: Results, _inputs: Inputs) -> Iterator[Contradiction]:
    """No check and no measurement has two answers, and none is of another stage than it says."""
    checks = Counter(check.id for stage in results.stages for check in stage.checks)
    figures = Counter(each.id for stage in results.stages for each in stage.measurements)
    strange = [
        check.id
        for stage in results.stages
        for check in stage.checks
        if check.id.partition(".")[0] not in (stage.stage, "")
    ]
    if twice := [name for name, times in (checks + figures).items() if times > 1] + strange:
        yield Contradiction(
            name="two-answers",
            stages=(),
            text=f"answered more than once, or by another stage than the one asked: {named(twice)}",
            stands="the worse answer",
            blocks=True,
            action="report this: one question has one answer",
        )
