"""The second oracle: an inf in one gradient must cost one step, and nothing else.

It knows nothing of the order of calls either. After the poisoned window the weights are what they were, the scale is
halved, neither the optimizer's count nor the schedule has moved; and the windows after it train again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from verifygate.execution.oracles.answers import Answer, Blame, Fact, blame_for_error, died
from verifygate.execution.oracles.runs import Event, Place, Seen, place
from verifygate.model import Status
from verifygate.protocol import Violation

UNGUARDED = "no scaler guards this run, and nothing else does"


@dataclass(frozen=True)
class _Window:
    """The poisoned window: its events, and those behind it."""

    poisoned: Event
    inside: tuple[Event, ...]
    behind: tuple[Event, ...]

    @property
    def steps(self) -> list[Event]:
        wanted = self.poisoned.get("optimizer")
        return [
            event
            for event in self.inside
            if event["event"] == "stepped" and (wanted is None or event["optimizer"] == wanted)
        ]

    @property
    def updates(self) -> list[Event]:
        """Those of the scaler for this window; behind the next backward, where that one is another optimizer's."""
        inside = [event for event in self.inside if event["event"] == "updated"]
        if inside or not self.steps:
            return inside
        skipped = {step["optimizer"] for step in self.steps}
        for event in self.behind:
            if event["event"] == "stepped" and event["optimizer"] in skipped:
                break
            if event["event"] == "updated":
                return [event]
        return []


def judge(seen: Seen, *, guarded: bool, may_stop: bool = False, what: str = "an inf in one gradient") -> Answer:
    """The answer for a run in which `what` was put.

    `guarded` where a live scaler is in charge of skipping; `may_stop` where the project did not ask for one, and so
    may stop instead.
    """
    window = _window(seen)
    if window is None:
        return _not_injected(seen, what)
    where = f"in window {window.poisoned['window'] + 1}"
    faults = _blames(seen, window, guarded)
    damage = [step for step in window.steps if step["moved"]]
    broken = [step for step in (*window.inside, *window.behind) if step["event"] == "stepped" and not step["finite"]]
    if broken and not guarded:
        text = f"{UNGUARDED}: {what} {where} reaches the weights"
        remedy = "stop, or skip the step, on inf or NaN"
        return Answer(Status.PARTIAL, text, (Fact(text, place(broken[0])),), (), remedy, advises=True)
    if seen.error is not None:
        return _stopped(seen, window, f"{what} {where}", guarded and not may_stop, faults)
    if faults or damage or broken:
        return _harmed(window, f"{what} {where}", faults, damage, broken)
    if guarded and (problem := _scale_kept(window)):
        return problem
    if problem := _stuck(window):
        return problem
    text = f"{what} {where}: the weights stay as they were" + (", the scale is halved" if guarded else "")
    text += f", and {sum(step['event'] == 'stepped' and step['moved'] for step in window.behind)} steps follow"
    return Answer(Status.PASS, text, (Fact(text, place(window.poisoned)),))


def schedule(seen: Seen, *, guarded: bool) -> Answer | None:
    """Whether a schedule that goes step by step moved in the poisoned window; None where there is no such schedule."""
    window = _window(seen)
    if window is None or not guarded or seen.error is not None or any(step["moved"] for step in window.steps):
        return None
    at = window.poisoned["window"]
    moves: dict[int, Event] = {}
    seen_backward, current = False, 0
    for event in seen.events:
        if event["event"] == "move" and event["kind"] == "backward":
            seen_backward, current = True, event["window"]
        elif event["event"] == "scheduled" and seen_backward:
            moves.setdefault(current, event)
    if not all(number in moves for number in range(at)):
        return None
    if at not in moves:
        text = f"the schedule waited in window {at + 1}, whose step was skipped"
        return Answer(Status.PASS, text, (Fact(text, place(moves[0])),))
    text = f"the schedule moved in window {at + 1} although its step was skipped"
    blame = Blame(Violation.SCHEDULER_IGNORES_SKIP, place(moves[at]), text)
    return Answer(
        Status.PARTIAL, text, (Fact(text, blame.place),), (blame,), "step the scheduler after real steps only"
    )


def _window(seen: Seen) -> _Window | None:
    """The last window that was poisoned, unless what was put in was thrown away before any step."""
    starts = [at for at, event in enumerate(seen.events) if event["event"] in ("poisoned", "spoilt")]
    if not starts:
        return None
    start = starts[-1]
    rest = seen.events[start + 1 :]
    if any(event["event"] == "discarded" for event in rest):
        return None
    number, end = seen.events[start]["window"], len(rest)
    for at, event in enumerate(rest):
        if event["event"] == "move" and event["kind"] == "backward" and _later(event, number, rest[:at]):
            end = at
            break
    return _Window(seen.events[start], tuple(rest[:end]), tuple(rest[end:]))


def _later(backward: Event, number: int, before: tuple[Event, ...]) -> bool:
    """Whether a backward belongs to a window behind the poisoned one."""
    return bool(backward["window"] > number or any(event["event"] in ("stepped", "updated") for event in before))


def _not_injected(seen: Seen, what: str) -> Answer:
    thrown = list(seen.of("discarded"))
    if thrown:
        text = "every poisoned gradient was zeroed or dropped before a step could use it"
        return Answer(
            Status.FAIL, text, (Fact(text, place(thrown[-1])),),
            (Blame(Violation.ZERO_GRAD_MISPLACED, place(thrown[-1]), text),),
            "zero the gradients between two windows, not between backward and step",
        )  # fmt: skip
    if seen.error is not None:
        text = f"before anything was put in, the entry {seen.ending}"
        return died(seen, text) or Answer(
            Status.NOT_MEASURED, text, (Fact(text, place(seen.error)),), blame_for_error(seen)
        )
    text = f"the entry ended before {what} could be put in"
    return Answer(
        Status.NOT_MEASURED, text, (Fact(text),), (), "let the entry make more steps, or set `inject_at` lower"
    )


def _blames(seen: Seen, window: _Window, guarded: bool) -> list[Blame]:
    """Rules whose violation this window shows."""
    found = []
    for event in window.inside:
        if event["event"] == "masked":
            text = "the inf is taken out of the gradients here, so the scaler cannot see it"
            found.append(Blame(Violation.CLIP_BEFORE_UNSCALE, place(event), text))
    by_scaler = [step for step in window.steps if step["by"] == "scaler"]
    for step in window.steps:
        if guarded and step["by"] == "optimizer" and step["moved"]:
            violation = Violation.DOUBLE_STEP if by_scaler else Violation.STEP_BYPASSES_SCALER
            also = ", although the scaler skipped its step" if by_scaler else ", which nothing checked"
            found.append(Blame(violation, place(step), f"the optimizer steps on inf gradients{also}"))
    if window.poisoned["event"] == "poisoned" and not found and guarded:
        found += [
            Blame(None, place(step), "the scaler's own step moved the weights") for step in by_scaler if step["moved"]
        ]
    return found + [blame for blame in blame_for_error(seen) if not found]


def _stopped(seen: Seen, window: _Window, what: str, guarded: bool, faults: list[Blame]) -> Answer:
    """The run raised, or ended badly, after the poison."""
    where = place(seen.error)
    text = f"after {what} the entry {seen.ending}"
    dead = died(seen, text)
    if dead is None and not guarded and not any(step["moved"] for step in window.steps):
        return Answer(Status.PASS, f"{text}, before the weights moved", (Fact(text, where),))
    named = [blame for blame in faults if blame.violation]
    if guarded and not named:
        left_open = "inf checks" in seen.ending or "already been called" in seen.ending
        why = "one overflow, which a scaler is there to survive, ends the training"
        if dead is not None:
            return replace(dead, facts=(*dead.facts, Fact(why, where)))
        blames = (Blame(Violation.SKIP_GUARD_BREAKS_SCALER, where, why),) if left_open else ()
        return Answer(Status.FAIL, text, (Fact(text, where), Fact(why, where)), blames, "let the scaler skip the step")
    if dead is not None:
        return dead
    return Answer(
        Status.FAIL, text, (Fact(text, where), *(Fact(blame.message, blame.place) for blame in faults)), tuple(named),
        "correct the line shown",
    )  # fmt: skip


def _harmed(window: _Window, what: str, faults: list[Blame], damage: list[Event], broken: list[Event]) -> Answer:
    seen = "the weights become inf or NaN" if broken else "the weights move" if damage else "the scaler is kept from it"
    text = f"{what}: {seen}"
    where: Place = place((broken or damage or [window.poisoned])[0])
    facts = [Fact(text, where), *(Fact(blame.message, blame.place) for blame in faults)]
    named = tuple(blame for blame in faults if blame.violation)
    return Answer(Status.FAIL, text, tuple(facts), named, "let `scaler.step` decide, on gradients that nothing rewrote")


def _scale_kept(window: _Window) -> Answer | None:
    """FAIL where no update of the window halved the scale."""
    updates = window.updates
    if any(event["after"] == event["before"] * event["backoff"] for event in updates):
        return None
    if not updates:
        text = "the window with the inf has no update: the scale stays too high"
        fact = Fact(text, place(window.poisoned))
        blame = Blame(Violation.SKIP_GUARD_BREAKS_SCALER, fact.place, text)
        return Answer(Status.FAIL, text, (fact,), (blame,), "reach `update()` on skipped steps too")
    text = f"the scale stays at {updates[0]['after']:g} after an inf"
    return Answer(
        Status.FAIL, text, (Fact(text, place(updates[0])),), (), "let the scaler see the gradients as they are"
    )


def _stuck(window: _Window) -> Answer | None:
    """Why it is not known that training goes on, or that it does not."""
    wanted = window.poisoned.get("optimizer")
    later = [
        event
        for event in window.behind
        if event["event"] == "stepped" and (wanted is None or event["optimizer"] == wanted)
    ]
    if any(step["moved"] and step["finite"] for step in later):
        return None
    if len(later) > 1:
        text = f"after the inf, {len(later)} more steps leave the weights as they are: training does not go on"
        blames = _left_over(window)
        facts = (Fact(text, place(later[0])), *(Fact(blame.message, blame.place) for blame in blames))
        return Answer(Status.FAIL, text, facts, blames, "reach `update()` and `zero_grad()` on skips")
    text = "the run ended with the poisoned window: whether training goes on was not seen"
    return Answer(Status.NOT_MEASURED, text, (Fact(text),), (), "let the entry make more steps")


def _left_over(window: _Window) -> tuple[Blame, ...]:
    """AMP212 where the backward behind the poisoned window adds to what that window left in the gradients."""
    backward = next((event for event in window.behind if event["event"] == "move"), None)
    if backward is None or not any(backward.get("left", [])):
        return ()
    text = "this backward adds to gradients that a step has met already"
    return (Blame(Violation.ZERO_GRAD_MISPLACED, place(backward), text),)
