"""Turn the record of a run into one outcome per test, with the place that a person should look at first."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from verifygate.execution.endings import Ending, Kind, Raised, classed
from verifygate.execution.scrub import Scrubber
from verifygate.execution.stream import Item, NotCollected, Phase, Place, Record
from verifygate.model import TestOutcome, TestWarning
from verifygate.model.dtype_error import DtypeError

Outcome = Literal["passed", "failed", "skipped", "xfailed", "xpassed", "error", "started", "flaky"]


@dataclass(frozen=True)
class Judged:
    """One test's outcome and its places, relative to the root."""

    test: TestOutcome
    failed_at: Place | None = None
    """The innermost line of the test's own file that the error came through."""
    raised_at: Place | None = None
    """The innermost line of the project that the error came through, where that is another one."""
    trace: tuple[Place, ...] = ()
    """All that the error came through, outermost first, as the interpreter names it."""
    ending: Ending | None = None
    """Whose doing the error is; None where it is not known, or there is none."""

    def explained(self, error: DtypeError | None) -> Judged:
        """The test with what an error about dtypes was about, and its mend, where one ended it."""
        if error is None or not self.bad:
            return self
        ending = replace(self.ending, remedy=error.remedy) if self.ending is not None else None
        return replace(self, test=self.test.model_copy(update={"dtype_error": error}), ending=ending)

    @property
    def bad(self) -> bool:
        return self.test.outcome in ("failed", "error", "started")

    @property
    def cause(self) -> tuple[str, Place | None]:
        """What tells its failure from others: the error, and its place where a test or a program raised it by name."""
        by_itself = self.ending is not None and self.ending.kind in (Kind.FAULT, Kind.MACHINE)
        return self.test.reason, None if by_itself else self.raised_at or self.failed_at


def judge(record: Record, scrubber: Scrubber) -> list[Judged]:
    """The outcome of everything that ran, or that could not be collected; in order of place."""
    items = record.items or {}
    ids = dict.fromkeys(record.started)  # once each, though a plugin may start a test again
    judged = [_judge_test(items.get(test, Item(test, "", 0, ())), record, scrubber) for test in ids]
    judged += [_judge_file(told, scrubber) for told in record.not_collected]
    position = {scrubber.identity(test): index for index, test in enumerate(items)}
    return sorted(judged, key=lambda one: (one.test.path, one.test.line, position.get(one.test.id, -1), one.test.id))


def warnings(record: Record, scrubber: Scrubber) -> tuple[TestWarning, ...]:
    """Each warning once, with its count, in order of place."""
    counts: dict[tuple[str, int, str, str], int] = {}
    for warned in record.warnings:
        key = (scrubber.path(warned.path), warned.line, warned.category, scrubber.text(warned.message))
        counts[key] = counts.get(key, 0) + 1
    return tuple(
        TestWarning(category=category, message=message, path=path, line=line, count=count)
        for (path, line, category, message), count in sorted(counts.items())
    )


def _judge_test(item: Item, record: Record, scrubber: Scrubber) -> Judged:
    phases = record.phases.get(item.id, [])
    outcome, reason, decisive = _outcome(phases)
    if decisive and decisive.between:
        reason += f" (hooks between the test and its report: {', '.join(map(scrubber.path, decisive.between))})"
    path = scrubber.inside(item.path) or _file_of(item.id)
    test = TestOutcome(
        id=scrubber.identity(item.id),
        outcome=outcome,
        reason=scrubber.text(reason),
        path=path,
        line=item.line,
        requirements=item.requirements,
        seconds=sum(phase.seconds for phase in phases) if phases else None,
    )
    trace = decisive.trace if decisive and outcome in ("failed", "error", "flaky") else ()
    if outcome == "started":
        trace = record.standing
    judged = _place(test, trace, scrubber)
    return _classed(judged, decisive, scrubber) if decisive and decisive.error and judged.bad else judged


def _classed(judged: Judged, phase: Phase, scrubber: Scrubber) -> Judged:
    """The test with whose doing its end is, and the innermost line of the project that its error came through."""
    message = phase.message.removeprefix(f"{phase.error}: ")
    raised = Raised(phase.error, message, phase.trace, phase.by_statement, phase.causes)
    ending = classed(raised, scrubber.root)
    path = scrubber.inside(ending.place[0])
    ended_at = f"{path}:{ending.place[1]}" if path else ""
    asserts = ending.kind is Kind.REFUSAL and (path == judged.test.path or phase.error == "AssertionError")
    known = "" if asserts else ending.kind.value
    return replace(
        judged,
        test=judged.test.model_copy(update={"ended_at": ended_at, "whose": known}),
        ending=ending if known else None,
    )


def _outcome(phases: list[Phase]) -> tuple[Outcome, str, Phase | None]:
    """The worst of a test's phases, its reason, and the phase that decided. What was raised outweighs the report."""
    for phase in phases:
        if phase.failure and (phase.outcome == "passed" or (phase.outcome == "skipped" and phase.xfail is None)):
            return "failed", f"reported as {phase.outcome} although it raised {phase.message}", phase
        if phase.failure and phase.outcome == "skipped" and not phase.marked:
            return "failed", f"reported as expected to fail, which nothing marks it as, with {phase.message}", phase
        if phase.outcome == "failed":
            return ("failed" if phase.when == "call" else "error"), phase.message, phase
    for phase in phases:
        if phase.outcome == "rerun":
            return "flaky", f"passed only when it ran again in the same process, after {phase.message}", phase
        if phase.outcome == "skipped":
            if phase.xfail is not None:
                return "xfailed", phase.xfail.removeprefix("reason: ") or phase.message, phase
            return "skipped", phase.message, phase
    if not any(phase.when == "teardown" for phase in phases):
        last = phases[-1].when if phases else "start"
        return "started", f"the run ended inside this test, after its {last}", None
    call = next((phase for phase in phases if phase.when == "call"), None)
    if call is None:
        return "error", "pytest reported no call of this test", None
    if call.called is False:
        return "failed", "reported as passed although its own function was never called", call
    if call.xfail is not None:
        return "xpassed", call.xfail, call
    return "passed", "", call


def _judge_file(told: NotCollected, scrubber: Scrubber) -> Judged:
    """A file that was skipped as a whole, or could not be imported."""
    path = scrubber.inside(_file_of(told.id)) or ""
    test = TestOutcome(
        id=scrubber.identity(scrubber.path(told.id)),
        outcome="error" if told.outcome == "error" else "skipped",
        reason=scrubber.text(told.message),
        path=path,
        line=next((line for place, line in told.trace if scrubber.inside(place) == path), 0),
    )
    return _place(test, told.trace if told.outcome == "error" else (), scrubber)


def _place(test: TestOutcome, trace: tuple[Place, ...], scrubber: Scrubber) -> Judged:
    inside = [(path, line) for place, line in trace if (path := scrubber.inside(place))]
    own = [place for place in inside if place[0] == test.path]
    fallback = (test.path, test.line) if test.path else None
    failed_at = own[-1] if own else fallback
    raised_at = inside[-1] if inside and inside[-1] != failed_at else None
    return Judged(test, failed_at, raised_at, trace)


def _file_of(identity: str) -> str:
    return identity.partition("::")[0]
