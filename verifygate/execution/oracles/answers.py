"""What an oracle says of one entry, and the rules that it can blame."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from verifygate.execution.endings import Kind
from verifygate.execution.oracles.runs import Place, Seen, place
from verifygate.model import Status
from verifygate.protocol import SCALER_ERRORS, Violation


class Fact(NamedTuple):
    """Something that was seen, and the place that caused it."""

    text: str
    place: Place = ("", 0)


@dataclass(frozen=True)
class Blame:
    """A violation of a rule that a run has shown."""

    violation: Violation | None
    """None where no rule can be named."""
    place: Place
    message: str


@dataclass(frozen=True)
class Answer:
    """What was found out about one entry."""

    status: Status
    actual: str
    facts: tuple[Fact, ...] = ()
    blames: tuple[Blame, ...] = ()
    remedy: str = ""
    emulated: bool = False
    """Whether CUDA was emulated in the runs that it speaks of."""
    advises: bool = False
    """It shows what the project may want to guard against, and breaks no rule of AMP: it blocks nothing."""


def with_cuda_emulated(answer: Answer, runs: Iterable[Seen]) -> Answer:
    """What is left of an answer whose runs saw an emulated device: nothing that a gap of it may have caused.

    A pass says nothing of what was not emulated. A failure stands if only figures (of memory, of time) were spoilt:
    no inf, no scale and no weight comes from them.
    """
    gaps = [gap for seen in runs for gap in seen.of("not-emulated")]
    if answer.status is Status.PASS:
        spoiling = [gap for gap in gaps if gap["spoils"] != "hint"]
    elif answer.status in (Status.FAIL, Status.PARTIAL):
        spoiling = [gap for gap in gaps if gap["spoils"] == "anything"]
    else:
        spoiling = []
    if not spoiling:
        return replace(answer, emulated=True)
    named = dict.fromkeys(f"{gap['feature']} ({gap['instead']})" for gap in spoiling)
    text = f"{answer.actual}; but the run used what is not emulated: {', '.join(named)}"
    places = {str(gap["feature"]): Fact(f"not emulated: {gap['feature']}", _gap_place(gap)) for gap in spoiling}
    facts = (*answer.facts, *places.values())
    return Answer(Status.NOT_MEASURED, text, facts, (), "run the gate on a machine with CUDA", emulated=True)


def _gap_place(gap: Mapping[str, object]) -> Place:
    line = gap.get("line")
    return (str(gap.get("path")), line if isinstance(line, int) else 0)


def blame_for_error(seen: Seen) -> tuple[Blame, ...]:
    """The rule behind an error that GradScaler raised, if it did, and the line that broke it."""
    error = seen.error
    if error is None or error.get("how") != "raised":
        return ()
    message = str(error["message"])
    violation = next((violation for part, violation in SCALER_ERRORS.items() if part in message), None)
    if violation is None:
        return ()
    violation, where = _root_cause(violation, seen, place(error))
    return (Blame(violation, where, f"GradScaler raises {error['error']}: {message}"),)


def _root_cause(violation: Violation, seen: Seen, raised: Place) -> tuple[Violation, Place]:
    """What led to the error: GradScaler complains only of the call that comes too late."""
    if violation is Violation.MISPLACED_UPDATE:
        direct = [step for step in seen.steps if step["by"] == "optimizer"]
        if direct and not any(step["by"] == "scaler" for step in seen.steps):
            return Violation.STEP_BYPASSES_SCALER, place(direct[-1])
    if violation is Violation.MISSING_UPDATE and seen.steps:
        return violation, place(seen.steps[-1])
    if violation is Violation.UNSCALE_TWICE:
        moves = list(seen.of("move"))
        first = next((at for at in reversed(range(len(moves))) if moves[at]["kind"] == "unscaled"), None)
        between = moves[first + 1 :] if first is not None else []
        backward = next((move for move in between if move["kind"] == "backward"), None)
        if first is not None and backward is not None:
            accumulates = any(backward.get("left", []))
            return Violation.UNSCALE_MID_ACCUMULATION if accumulates else violation.under_guard, place(moves[first])
    return violation, raised


def died(seen: Seen, text: str) -> Answer | None:
    """FAIL where a fault of the program ended the run: it did not refuse anything. `text` says when."""
    end = seen.end
    if end is None or not end.is_fault:
        return None
    said = f"{text}: {end.kind.value}, and no refusal"
    return Answer(Status.FAIL, said, (Fact(said, end.place),), blame_for_error(seen), end.remedy)


def cannot_run(seen: Seen) -> Answer:
    """The entry fails on its own: nothing can be said, but for its own fault, or what GradScaler complained of."""
    blames = blame_for_error(seen)
    fact = Fact(f"without any change the entry {seen.ending}", place(seen.error))
    if blames:
        return Answer(Status.FAIL, fact.text, (fact,), blames, "correct the line shown")
    if (dead := died(seen, fact.text)) is not None:
        return dead
    remedy = "let the entry train for some steps on this machine, within `execution.oracles.seconds`"
    if (end := seen.end) is not None and end.kind is Kind.MACHINE:
        remedy = end.remedy
    return Answer(Status.NOT_MEASURED, fact.text, (fact,), (), remedy)
