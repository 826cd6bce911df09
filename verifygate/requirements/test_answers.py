"""Answers from tests: those that a requirement names, and those that name the requirement.

Most ran here, in the execution stage; some are told of by a JUnit file from elsewhere. What such a file only declares
proves nothing when it passed, and counts when it failed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from verifygate.base.counts import counted
from verifygate.model import EvidenceClass, Status
from verifygate.requirements.facts import SHOWN, Answer, Cite, Facts, Missing, Test, listed, matches, together
from verifygate.requirements.queries import MarkedTests, Query

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
    wanted = query.test or ""
    found = [test for test in facts.tests if matches(test.id, wanted)]
    if found:
        return _judged(found, facts)
    execution = facts.execution
    if isinstance(execution, Missing):
        return execution.answer
    left_out = f" ran ({execution.deselected} deselected)" if execution.deselected else ""
    return Answer(Status.FAIL, f"no such test{left_out}: {wanted}", remedy="write the test, or correct its id")


def marked(identifier: str, asked: MarkedTests, facts: Facts) -> Answer:
    """Whether enough tests are marked with the requirement's id, and all of them ran and passed."""
    found = facts.marked.get(identifier, ())
    functions = len({_function(test.id) for test in found if test.kind is not EvidenceClass.DECLARED})
    if functions >= asked.at_least:
        return _judged(found, facts)
    execution = facts.execution
    if isinstance(execution, Missing):
        return execution.answer
    mark = f'@pytest.mark.requirement("{identifier}")'
    answer = _judged(found, facts) if found else Answer(Status.FAIL, "")
    actual = f"{functions} of at least {asked.at_least} tests marked with {identifier}"
    return Answer(
        Status.FAIL, actual, answer.cites, answer.code, answer.tests, answer.foreign, remedy=f"mark a test {mark}"
    )


def marking(identifier: str, facts: Facts) -> tuple[str, ...]:
    """Ids of the tests that ran here and name the requirement, whatever became of them."""
    return tuple(test.id for test in facts.marked.get(identifier, ()) if not test.source)


def told(tests: Iterable[Test]) -> tuple[str, ...]:
    """Those that ran elsewhere, each with the file that tells of it."""
    return tuple(f"{test.id} ({test.source})" for test in tests if test.source)


def unknown(known: set[str], facts: Facts) -> dict[str, Test]:
    """Ids that tests name and the specification does not, each with the first test that names it."""
    return {identifier: tests[0] for identifier, tests in sorted(facts.marked.items()) if identifier not in known}


def _proves(test: Test) -> Status:
    status = PROVES[test.outcome.outcome]
    declared = test.kind is EvidenceClass.DECLARED
    return Status.NOT_MEASURED if declared and status in (Status.PASS, Status.PARTIAL) else status


def _judged(every: Sequence[Test], facts: Facts) -> Answer:
    """What these tests show together; a mere word that one passed is left aside where others ran."""
    ran = [test for test in every if test.kind is not EvidenceClass.DECLARED or _proves(test) is Status.FAIL]
    found = ran or every
    status = together(_proves(test) for test in found)
    ranked = sorted(found, key=lambda test: WORST_FIRST.index(_proves(test)))
    counts = Counter(test.outcome.outcome for test in ranked)
    actual = ", ".join(f"{number} {outcome}" for outcome, number in counts.items())
    if problems := [test for test in ranked if _proves(test) is not Status.PASS]:
        actual += f": {listed(test.id for test in problems)}"
    for kind, words in ((EvidenceClass.EMULATED, "with CUDA emulated"), (EvidenceClass.DECLARED, "only declared")):
        if number := sum(test.kind is kind for test in found):
            actual += f"; {number} {words}"
    for source in dict.fromkeys(test.source for test in found if test.source):
        actual += f"; told by {source}"
    identifiers = {test.id for test in found}
    execution = facts.execution
    functions = () if isinstance(execution, Missing) else execution.functions
    executed = [item for item in functions if identifiers & set(item.tests)]
    declared = all(test.kind is EvidenceClass.DECLARED for test in found) and status is Status.NOT_MEASURED
    return Answer(
        status,
        f"{counted(len(found), 'test')}: {actual}",
        tuple(_cite(test) for test in ranked[:SHOWN]),
        code=tuple(f"{item.path}:{item.line} {item.symbol}".rstrip() for item in executed),
        tests=tuple(test.id for test in found if not test.source),
        foreign=told(found),
        remedy="run these tests in the gate: a file's word proves nothing" if declared else REMEDIES[status],
    )


def _cite(test: Test) -> Cite:
    outcome = test.outcome
    if test.source:
        summary = f"{test.id} {outcome.outcome}, as {test.source} tells"
        return Cite(test.kind, summary, test.source, 1)
    if test.kind is EvidenceClass.EMULATED:
        why = f": {outcome.reason}" if outcome.reason else ""
        standing = "not measured" if outcome.outcome == "skipped" else outcome.outcome
        return Cite(
            test.kind, f"{test.id} {standing} with CUDA emulated{why}", outcome.path or None, outcome.line or None
        )
    why = f" ({outcome.reason})" if outcome.reason else ""
    ended = "started, and the run died in it" if outcome.outcome == "started" else outcome.outcome
    return Cite(test.kind, f"{test.id} {ended}{why}", outcome.path or None, outcome.line or None)


def _function(identifier: str) -> str:
    return identifier.partition("[")[0]
