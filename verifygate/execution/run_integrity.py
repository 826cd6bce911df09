"""Integrity of a test run: the process's exit, the plugin's account and pytest's exit status must agree."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from verifygate.base.counts import counted
from verifygate.execution.outcomes import Judged
from verifygate.execution.remedies import for_imports
from verifygate.execution.scrub import Scrubber
from verifygate.execution.stream import Record, Warned
from verifygate.model import Check, Evidence, EvidenceClass, Status
from verifygate.process.subject import Completed

ID = "execution.tests-ran"
MOST_CAUSES = 5
EVIDENCE_LIMIT = 50
MOST_CAUSES = 5
"""Pieces of evidence shown for one check; the counts stay exact."""

EXECUTED = ("passed", "failed", "flaky", "xfailed", "xpassed", "started")
SLOW_SHARE = 0.5
"""A test that has run for this share of the whole run's time hangs; before that, the run was only slow."""

STATUS_WORDS = {
    2: "interrupted",
    3: "an error inside pytest or a plugin",
    4: "a usage or configuration error",
    5: "no tests collected",
}
"""pytest's exit statuses that are neither success nor failed tests."""


@dataclass(frozen=True)
class Account:
    """All that is known of one run."""

    completed: Completed
    record: Record
    judged: Sequence[Judged]
    scrubber: Scrubber
    interpreter: str = "the project's interpreter"
    """The one that ran it, as a report may name it."""
    base: str = ""
    """The commit that the change began at, where what failed or was put aside was asked of it."""
    base_problem: str = ""
    """Why nobody knows what these tests did there; empty where it is known, or was not asked."""

    @property
    def collected(self) -> int:
        return len(self.record.items or {})

    @property
    def bad(self) -> list[Judged]:
        spared = ("started",) if self.out_of_time else ()
        return [one for one in self.judged if one.bad and one.test.outcome not in spared]

    @property
    def flaky(self) -> list[Judged]:
        return [one for one in self.judged if one.test.outcome == "flaky"]

    @property
    def out_of_time(self) -> bool:
        """Whether the run reached its time limit for the number of its tests, and not because the last one hangs."""
        limit = self.completed.limit_seconds * SLOW_SHARE
        return self.completed.timed_out and bool(self.record.started) and self.record.last_seconds < limit

    @property
    def broken_files(self) -> list[Judged]:
        """Files that could not be imported or collected."""
        broken = {self.scrubber.identity(self.scrubber.path(t.id)) for t in self.record.not_collected}
        return [one for one in self.judged if one.test.id in broken and one.test.outcome == "error"]

    @property
    def for_broken_files(self) -> str:
        """What to do about files that could not be imported."""
        reasons = [one.test.reason for one in self.broken_files]
        return for_imports(reasons, self.interpreter, self.scrubber.root)

    @property
    def not_started(self) -> list[str]:
        """Tests that were deselected, or collected and never begun."""
        started = set(self.record.started)
        waiting = [test for test in self.record.items or {} if test not in started]
        return sorted(self.scrubber.identity(test) for test in [*self.record.deselected, *waiting])

    @property
    def doubtful(self) -> bool:
        """Whether something in the run bends what is reported, so that a pass proves nothing."""
        return bool(self.record.forged or self.record.unharmed or self.record.blunted or self.record.altered)

    @property
    def complaint(self) -> str:
        """What pytest says where it refuses to begin: `: file or directory not found: test`; empty for nothing."""
        found = re.findall(r"(?im)^.*?\berror: (.+)$", f"{self.completed.stdout_tail}\n{self.completed.stderr_tail}")
        return f": {self.scrubber.text(found[-1])}" if found else ""

    @property
    def executed(self) -> list[Judged]:
        """Tests whose body was entered."""
        return [one for one in self.judged if one.test.outcome in EXECUTED]

    @property
    def counts(self) -> str:
        """`3 collected, 3 started: 2 passed, 1 failed; exit code 1`."""
        names = ("passed", "failed", "error", "started", "flaky", "skipped", "xfailed", "xpassed")
        shown = {"error": "in error", "started": "unfinished"}
        totals = {name: sum(one.test.outcome == name for one in self.judged) for name in names}
        parts = ", ".join(f"{total} {shown.get(name, name)}" for name, total in totals.items() if total)
        deselected = f", {len(self.record.deselected)} deselected" if self.record.deselected else ""
        started = len(set(self.record.started))
        outcome = f": {parts}" if parts else ""
        return f"{self.collected} collected{deselected}, {started} started{outcome}; {self.completed.ending}"


@dataclass(frozen=True)
class Problem:
    """Why the run cannot be believed, and where to look."""

    text: str
    remedy: str
    culprits: Sequence[Judged] = ()
    status: Status = Status.FAIL


def names(tests: Sequence[Judged]) -> str:
    """The ids of some tests; of the first also what was raised there, as that is often all that one needs to know."""
    first, *others = tests
    shown = [first.test.id + (f" ({first.test.reason})" if first.test.reason else ""), *(o.test.id for o in others[:4])]
    return ", ".join(shown) + (f" and {len(tests) - 5} more" if len(tests) > 5 else "")


def by_cause(tests: Sequence[Judged]) -> list[Judged]:
    """The first test of each cause, the cause of most tests first."""
    number = Counter(one.cause for one in tests)
    first = {one.cause: one for one in reversed(tests)}
    return sorted(first.values(), key=lambda one: (-number[one.cause], tests.index(one)))


def causes(tests: Sequence[Judged]) -> str:
    """The failures of some tests, each cause once."""
    first = by_cause(tests)
    if len(first) == len(tests):
        return names(tests)
    number = Counter(one.cause for one in tests)
    told = [f"{counted(number[one.cause], 'test')}, {one.test.id} ({one.test.reason})" for one in first[:MOST_CAUSES]]
    more = f"; and {len(first) - MOST_CAUSES} more" if len(first) > MOST_CAUSES else ""
    return f"{counted(len(first), 'cause')}: {'; '.join(told)}{more}"


def tests_ran(account: Account, junit: str) -> Check:
    """`execution.tests-ran`: it began, started everything it collected, finished, and ended as it said.

    `junit` is how a JUnit file that the run was told to write differs from the run.
    """
    problem = _died(account) or _stopped(account) or _contradicts(account, junit) or _nothing(account)
    actual = account.counts
    if account.record.lingered:
        actual += "; the process had to be ended, because a thread kept it alive after the last test"
    if left := account.completed.left_behind:
        names = ", ".join(account.scrubber.text(name) for name in left[:3])
        actual += f"; {counted(len(left), 'process', 'processes')} left behind and ended: {names}"
    return Check(
        id=ID,
        title="The tests ran to their end",
        status=problem.status if problem else Status.PASS,
        weight=2,
        expected="every collected test is started and ends, pytest finishes, and the exit code says the same",
        actual=f"{problem.text} ({actual})" if problem else actual,
        evidence=_evidence(account, problem),
        remedy=problem.remedy if problem else "",
    )


def _evidence(account: Account, problem: Problem | None) -> tuple[Evidence, ...]:
    if problem is None or not problem.culprits:
        summary = "what the plugin inside the run told, against the end of the process"
        return (Evidence(id=f"E-{ID}", kind=EvidenceClass.EXECUTED, summary=summary),) if account.record.loaded else ()
    return tuple(
        Evidence(
            id=f"E-{ID}-{number}",
            kind=EvidenceClass.EXECUTED,
            summary=f"{one.test.id}: {one.test.reason or one.test.outcome}",
            path=(one.raised_at or one.failed_at or (None, None))[0],
            line=(one.raised_at or one.failed_at or (None, None))[1] or None,
        )
        for number, one in enumerate(problem.culprits[:EVIDENCE_LIMIT], 1)
    )


def _died(account: Account) -> Problem | None:
    """The run ended before pytest finished."""
    record, ending = account.record, account.completed.ending
    if record.status is not None:
        return None
    if account.broken_files:
        text = f"pytest ended while it imported {names(account.broken_files)}"
        return Problem(text, account.for_broken_files, account.broken_files)
    if not record.loaded:
        return Problem(f"the run ended before pytest began: {ending}", "run the command by hand and read its output")
    if record.items is None:
        if account.completed.exit_code == 4:
            text = f"pytest refused its arguments or its configuration{account.complaint}"
            return Problem(text, "correct `execution.pytest`, or pytest's own configuration")
        place = account.scrubber.identity(record.collecting) or "plugins and conftest files"
        return Problem(
            f"the run ended while pytest loaded {place}: {ending}", f"look for what ends the process in {place}"
        )
    if unfinished := [one for one in account.judged if one.test.outcome == "started"]:
        return _died_in(account, unfinished)
    last = account.scrubber.identity(record.last_started)
    after = f"after {last}" if last else "before the first test"
    return Problem(
        f"the run ended without a session finish, {after}: {ending}", f"look for what ends the process {after}"
    )


def _died_in(account: Account, unfinished: list[Judged]) -> Problem:
    """The run ended inside a test."""
    record, ending = account.record, account.completed.ending
    name = account.scrubber.identity(record.last_started)
    if account.out_of_time:
        done = len(record.started) - len(unfinished)
        text = f"time is up: {done} of {counted(account.collected, 'test')} have run; {ending}"
        return Problem(text, "raise `execution.seconds`, or run fewer tests", unfinished, Status.NOT_MEASURED)
    where = f", at {place[0]}:{place[1]}" if (place := unfinished[-1].raised_at or unfinished[-1].failed_at) else ""
    if record.test_limit is not None:
        ending = f"stopped at the time limit of one test, {record.test_limit:g} s"
    hangs = account.completed.timed_out or record.test_limit is not None
    remedy = f"run `{name}` by itself and find what " + ("it waits for" if hangs else "ends the process")
    text = f"the run ended without a session finish; the last test started is {name}: {ending}"
    return Problem(text + (where if hangs and record.standing else ""), remedy, unfinished)


def _stopped(account: Account) -> Problem | None:
    """pytest finished, but not everything that was to run did."""
    record = account.record
    if record.forged:
        remedy = "find the test or conftest that writes into the gate's stream"
        return Problem(
            f"the account of the run holds {counted(record.forged, 'line')} that the plugin did not write", remedy
        )
    if record.internal_error:
        return Problem(
            f"pytest broke: {account.scrubber.text(record.internal_error)}", "correct the plugin or conftest"
        )
    if account.broken_files:
        text = f"could not be collected: {names(account.broken_files)}"
        return Problem(text, account.for_broken_files, account.broken_files)
    missing = account.collected - len(set(record.started))
    if missing > 0:
        why = account.scrubber.text(record.interrupted or record.stopped) or "pytest gives no reason"
        culprits = [one for one in account.judged if one.test.id == account.scrubber.identity(record.last_started)]
        return Problem(
            f"{missing} of {counted(account.collected, 'collected test')} never started: {why}",
            "run all of them",
            culprits,
        )
    if unfinished := [one for one in account.judged if one.test.outcome == "started"]:
        why = account.scrubber.text(record.interrupted or record.stopped) or "pytest gives no reason"
        return Problem(f"{unfinished[-1].test.id} was cut short: {why}", "let the test end by itself", unfinished)
    if record.interrupted:
        return Problem(f"interrupted: {account.scrubber.text(record.interrupted)}", "let the run end by itself")
    return None


def _contradicts(account: Account, junit: str) -> Problem | None:
    """The end of the process and the account of the run tell two stories."""
    record, code, status = account.record, account.completed.exit_code, account.record.status
    if account.completed.timed_out or account.completed.flooded:
        return Problem("the tests finished, but the process did not end", "end threads and children that a test starts")
    if account.bad and code == 0:
        remedy = "find the conftest or plugin that changes the exit status or the reports"
        return Problem(f"exit code 0 although {counted(len(account.bad), 'test')} did not pass", remedy, account.bad)
    if record.unharmed:
        folders = ", ".join(account.scrubber.text(folder) for folder in record.unharmed)
        remedy = "remove the hook that swallows or rewrites failures (conftest.py, or an installed plugin)"
        return Problem(f"a test made to fail was not reported as failed in {folders}", remedy)
    if record.blunted:
        shown = ", ".join(account.scrubber.identity(test) for test in record.blunted[:3])
        text = f"the asserts of {counted(len(record.blunted), 'test')} were taken out before they ran: {shown}"
        return Problem(text, "find what loads the tests in place of pytest: an import hook, a rewriter of asserts")
    if record.altered:
        found = dict.fromkeys(f"{account.scrubber.path(path)}::{name} ({why})" for path, name, why in record.altered)
        text = f"what ran of {counted(len(found), 'test')} is not its text: {', '.join(list(found)[:3])}"
        return Problem(text, "find what steers the tests: a trace function, or code put in the place of theirs")
    if thread := next((each for each in record.warnings if _is_assert_in_thread(each)), None):
        place = f"{account.scrubber.path(thread.path)}:{thread.line}"
        return Problem(f"an assert failed in a thread, and no test failed with it ({place})", "join it in the test")
    if code != status:
        text = f"pytest finished with status {status}, but the process ended with {account.completed.ending}"
        return Problem(text, "find what ends the process after the session: an exit hook, a crash in a library")
    if code not in (0, 1, 5):
        said = STATUS_WORDS.get(code, "unknown") + (account.complaint if code == 4 else "")
        remedy = "correct `execution.pytest`, or pytest's own configuration" if code == 4 else "run the command by hand"
        return Problem(f"pytest ended with status {code}: {said}", remedy)
    if code == 1 and not account.bad:
        return Problem("exit code 1 although every test passed", "find the plugin or threshold that fails the session")
    if junit:
        return Problem(account.scrubber.text(junit), "find what writes that file besides pytest")
    return None


def _is_assert_in_thread(warned: Warned) -> bool:
    return warned.category == "PytestUnhandledThreadExceptionWarning" and "AssertionError" in warned.message


def _nothing(account: Account) -> Problem | None:
    """The run is honest, but says nothing."""
    if account.executed or account.bad:
        return None
    if not account.collected and not account.judged:
        hidden = ": all were deselected" if account.record.deselected else ""
        remedy = "name the tests in `execution.pytest`"
        return Problem(f"no test was collected{hidden}", remedy, status=Status.NOT_MEASURED)
    reasons = sorted({one.test.reason for one in account.judged if one.test.reason})
    text = f"no test was executed: all were skipped ({'; '.join(reasons[:3])})"
    return Problem(text, "run where the tests can run", account.judged, Status.NOT_MEASURED)
