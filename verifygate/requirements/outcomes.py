"""Answers from the execution stage: the tests that a requirement names, and the tests that name the requirement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from verifygate.model import EmulatedTest, EvidenceClass, ExecutionDetails, Status, TestOutcome
from verifygate.requirements.facts import SHOWN, Answer, Cite, Facts, Missing, counted, listed, matches, together
from verifygate.requirements.spec import MarkedTests, Query

PROVES = {
    "passed": Status.PASS,
    "failed": Status.FAIL,
    "error": Status.FAIL,
    "started": Status.FAIL,
    "xfailed": Status.FAIL,
    "xpassed": Status.PARTIAL,
    "flaky": Status.PARTIAL,
    "skipped": Status.NOT_MEASURED,
}
"""A test that is expected to fail and does shows that the requirement is not met; one that passes all the same
contradicts its own mark; one that is flaky shows nothing for sure."""
WORST_FIRST = (Status.FAIL, Status.NOT_MEASURED, Status.PARTIAL, Status.PASS)
REMEDIES = {
    Status.FAIL: "make the test pass",
    Status.NOT_MEASURED: "run the tests where they are not skipped",
    Status.PARTIAL: "run what was skipped on a machine where it can run, and drop xfail marks that no longer hold",
    Status.PASS: "",
}


def named(query: Query, facts: Facts) -> Answer:
    """Whether the tests that the query names ran and passed."""
    execution, wanted = facts.execution, query.test or ""
    if isinstance(execution, Missing):
        return execution.answer
    found = [test for test in tests_of(execution) if matches(test.id, wanted)]
    if not found:
        left_out = f" ran ({execution.deselected} deselected)" if execution.deselected else ""
        return Answer(Status.FAIL, f"no such test{left_out}: {wanted}", remedy="write the test, or correct its id")
    return _judged(found, execution)


def marked(identifier: str, asked: MarkedTests, facts: Facts) -> Answer:
    """Whether enough tests are marked with the requirement's id, and all of them ran and passed."""
    execution = facts.execution
    if isinstance(execution, Missing):
        return execution.answer
    found = [test for test in tests_of(execution) if identifier in test.requirements]
    functions = len({_function(test.id) for test in found})
    mark = f'@pytest.mark.requirement("{identifier}")'
    if functions < asked.at_least:
        answer = _judged(found, execution) if found else Answer(Status.FAIL, "")
        actual = f"{functions} of at least {asked.at_least} tests marked with {identifier}"
        return Answer(Status.FAIL, actual, answer.cites, answer.code, answer.tests, remedy=f"mark a test {mark}")
    return _judged(found, execution)


def marking(identifier: str, facts: Facts) -> tuple[str, ...]:
    """Ids of the tests that name the requirement, whatever became of them."""
    execution = facts.execution
    if isinstance(execution, Missing):
        return ()
    return tuple(test.id for test in tests_of(execution) if identifier in test.requirements)


def unknown(known: set[str], facts: Facts) -> dict[str, TestOutcome]:
    """Ids that tests name and the specification does not, each with the first test that names it."""
    execution = facts.execution
    if isinstance(execution, Missing):
        return {}
    found: dict[str, TestOutcome] = {}
    for test in tests_of(execution):
        for identifier in test.requirements:
            if identifier not in known:
                found.setdefault(identifier, test)
    return dict(sorted(found.items()))


def tests_of(execution: ExecutionDetails) -> list[TestOutcome]:
    """Every test; one that was skipped for want of CUDA as it ended where CUDA is emulated.

    A file that was skipped as a whole gives way to the tests in it that ran there.
    """
    emulated = {one.id: _as_test(one) for one in execution.emulated}
    files = {identifier.partition("::")[0] for identifier in emulated} - set(emulated)
    stand = {test.id: emulated.get(test.id, test) for test in execution.tests if test.id not in files}
    return list((stand | emulated).values())


def _as_test(one: EmulatedTest) -> TestOutcome:
    outcome = {"passed": "passed", "failed": "failed"}.get(one.standing, "skipped")
    return TestOutcome(
        id=one.id, outcome=outcome, reason=one.reason, path=one.path, line=one.line, requirements=one.requirements
    )


def _judged(found: Sequence[TestOutcome], execution: ExecutionDetails) -> Answer:
    status = together(PROVES[test.outcome] for test in found)
    with_cuda_emulated = {one.id for one in execution.emulated}
    ranked = sorted(found, key=lambda test: WORST_FIRST.index(PROVES[test.outcome]))
    counts = Counter(test.outcome for test in ranked)
    actual = ", ".join(f"{number} {outcome}" for outcome, number in counts.items())
    if problems := [test for test in ranked if PROVES[test.outcome] is not Status.PASS]:
        actual += f": {listed(test.id for test in problems)}"
    if emulated := [test for test in found if test.id in with_cuda_emulated]:
        actual += f"; {len(emulated)} with CUDA emulated"
    identifiers = {test.id for test in found}
    executed = [item for item in execution.functions if identifiers & set(item.tests)]
    return Answer(
        status,
        f"{counted(len(found), 'test')}: {actual}",
        tuple(_cite(test, execution) for test in ranked[:SHOWN]),
        code=tuple(f"{item.path}:{item.line} {item.symbol}".rstrip() for item in executed),
        tests=tuple(test.id for test in found),
        remedy=REMEDIES[status],
    )


def _cite(test: TestOutcome, execution: ExecutionDetails) -> Cite:
    if any(test.id == one.id for one in execution.emulated):
        why = f": {test.reason}" if test.reason else ""
        standing = "not measured" if test.outcome == "skipped" else test.outcome
        summary = f"{test.id} {standing} with CUDA emulated{why}"
        return Cite(EvidenceClass.EMULATED, summary, test.path or None, test.line or None)
    why = f" ({test.reason})" if test.reason else ""
    ended = "started, and the run died in it" if test.outcome == "started" else test.outcome
    return Cite(EvidenceClass.EXECUTED, f"{test.id} {ended}{why}", test.path or None, test.line or None)


def _function(identifier: str) -> str:
    return identifier.partition("[")[0]
