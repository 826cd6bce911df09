"""The first oracle: the same training from loss scale 2^8 and from 2^16 must end in the same weights, bit by bit.

It knows nothing of the order of calls. Powers of two change no bit of a bfloat16 or float32 number but the exponent,
so whatever makes the weights depend on the scale has read, cut or mixed gradients while they were multiplied by it.
Where the weights differ, the gradients of the two runs are compared move by move: the first move after which they
are neither equal nor in the ratio of the scales is the one at fault.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from verifygate.execution.oracles.answers import Answer, Blame, Fact, blame_for_error, died
from verifygate.execution.oracles.runs import Event, Place, Seen, place
from verifygate.model import Status
from verifygate.protocol import Violation

LOW, HIGH = 2.0**8, 2.0**16
MARGIN = 8.0
"""Two runs with different scales may differ by so many times what two equal runs differ by."""
NOISE_LIMIT = 1e-3
"""Equal runs that differ by more than this share of the way the weights went tell nothing."""


@dataclass
class _Gradients:
    """What one optimizer's gradients were before a move, as far as both runs agree on it."""

    held: str = "none"
    """`none`, `scaled`, `plain`, `unscaled` or `spent`."""
    updated: bool = False
    """Whether the scaler was updated since they were unscaled."""


@dataclass
class _Story:
    """The state of all optimizers while the moves of both runs are read side by side."""

    states: dict[int, _Gradients] = field(default_factory=dict)
    differentiated: Place | None = None
    """Where `autograd.grad` was called since the last step."""

    def of(self, optimizer: int) -> _Gradients:
        return self.states.setdefault(optimizer, _Gradients())


def judge(low: Seen, high: Seen, again: Seen | None, *, switched_on: bool) -> Answer | None:
    """Compare the runs. None asks for `again`, a second run of the low scale, to tell how much equal runs differ."""
    for seen, scale in ((low, LOW), (high, HIGH)):
        if (error := seen.error) is not None:
            fact = Fact(f"from loss scale {scale:g} the entry {seen.ending}", place(error))
            blames = blame_for_error(seen)
            status = Status.FAIL if blames else Status.NOT_MEASURED
            if not blames and (dead := died(seen, fact.text)) is not None:
                return dead
            return Answer(status, fact.text, (fact,), blames, "let the entry run with any loss scale")
    if problem := _vacuous(low, high):
        return problem
    pairs = list(zip(low.steps, high.steps, strict=False))
    first = next((at for at, (one, other) in enumerate(pairs) if one["weights"] != other["weights"]), None)
    how = "; the scaler, off here, was switched on for this" if switched_on else ""
    if first is None and len(low.steps) == len(high.steps):
        text = f"{len(pairs)} steps from loss scale {LOW:g} and from {HIGH:g}: the same bits{how}"
        return Answer(Status.PASS, text, (Fact(text, place(low.steps[0])),))
    if again is None:
        return None
    first = len(pairs) - 1 if first is None else first
    if (noisy := _calibrated(low, high, again)) is not None:
        return noisy
    return _explained(low, high, first)


def _vacuous(low: Seen, high: Seen) -> Answer | None:
    """Why equal weights would show nothing, if they would."""
    scales = [[step["scale"] for step in seen.steps[:1]] for seen in (low, high)]
    if not all(any(step["moved"] for step in seen.steps) for seen in (low, high)):
        text = "no step moved the weights, so there is nothing to compare"
    elif scales[0] == scales[1]:
        text = f"the entry sets its loss scale itself ({scales[0][0]:g} in both runs)"
    elif event := low.first("float16"):
        text = f"{event['module']} computes in float16 although autocast was given bfloat16: no bit is exact"
        return Answer(Status.NOT_MEASURED, text, (Fact(text, place(event)),), (), "leave the dtype to autocast")
    else:
        return None
    remedy = "let the entry make some steps with a scaler of its own making"
    return Answer(Status.NOT_MEASURED, text, (Fact(text),), (), remedy)


# --- equal runs that are not equal


def _calibrated(low: Seen, high: Seen, again: Seen) -> Answer | None:
    """The answer where even two equal runs differ; None where they do not."""
    pairs = list(zip(low.steps, again.steps, strict=False))
    if all(one["weights"] == other["weights"] for one, other in pairs):
        return None
    noise = max(distance(one, other) for one, other in pairs)
    way = distance(low.steps[0], low.steps[-1])
    if noise > NOISE_LIMIT * way:
        text = f"two runs with the same scale differ by {noise:.2g} (the weights went {way:.2g}): nothing can be told"
        return Answer(Status.NOT_MEASURED, text, (Fact(text),), (), "seed everything that the entry draws at random")
    apart = max(distance(one, other) for one, other in zip(low.steps, high.steps, strict=False))
    tolerance = MARGIN * noise
    text = (
        f"weights differ by {apart:.2g} between the scales; equal runs differ by {noise:.2g}, "
        f"so up to {tolerance:.2g} is allowed"
    )
    if apart <= tolerance and len(low.steps) == len(high.steps):
        return Answer(Status.PASS, text, (Fact(text),))
    return Answer(Status.FAIL, text, (Fact(text),), (), "find what reads gradients while they are scaled")


def distance(one: Event, other: Event) -> float:
    """The largest difference of a sampled weight."""
    pairs = zip(_values(one), _values(other), strict=False)
    return max((abs(a - b) for a, b in pairs), default=0.0)


def _values(step: Event) -> Sequence[float]:
    data = base64.b64decode(step["sample"])
    return struct.unpack(f"<{len(data) // 8}d", data)


# --- where it began


def _explained(low: Seen, high: Seen, first: int) -> Answer:
    """FAIL, with the first step that differs, and the move at fault where there is one."""
    one, other = low.steps[first], high.steps[first]
    if one["weights"] == other["weights"]:
        text = f"{len(low.steps)} steps from loss scale {LOW:g}, {len(high.steps)} from {HIGH:g}"
    else:
        text = (
            f"the weights depend on the loss scale from step {first + 1} on: "
            f"{LOW:g} and {HIGH:g} differ by {distance(one, other):.2g}"
        )
    facts = [Fact(text, place(one))]
    blame = next(_faults(low, high, first), None)
    if blame is not None:
        facts.append(Fact(blame.message, blame.place))
    blames = (blame,) if blame is not None and blame.violation else ()
    return Answer(Status.FAIL, text, tuple(facts), blames, "correct what reads or mixes scaled gradients")


def _faults(low: Seen, high: Seen, first: int) -> Iterator[Blame]:
    """Moves after which the gradients depend on the scale as they must not; no violation where none can be named."""
    story, steps = _Story(), 0
    kinds = ("move", "stepped", "updated", "autograd.grad")
    for one, other in zip(low.of(*kinds), high.of(*kinds), strict=False):
        if (one["event"], one["site"]) != (other["event"], other["site"]):
            yield Blame(None, place(one), "from here on the two runs go different ways")
            return
        if one["event"] == "move":
            yield from _after_move(story, one, other)
        elif one["event"] == "autograd.grad":
            story.differentiated = place(one)
        elif one["event"] == "updated":
            for state in story.states.values():
                state.updated = True
        else:
            state = story.of(one["optimizer"])
            if one["by"] == "optimizer" and one["weights"] != other["weights"] and state.held == "scaled":
                text = "the optimizer steps on gradients that are still scaled"
                yield Blame(Violation.STEP_BYPASSES_SCALER, place(one), text)
            state.held, story.differentiated = "spent", None
            steps += 1
            if steps > first + 1:
                return


def _after_move(story: _Story, one: Event, other: Event) -> Iterator[Blame]:
    """What a move did to the gradients of each optimizer, in both runs."""
    kind = one["kind"]
    left = one.get("left", [])
    for optimizer, (mine, its) in enumerate(zip(one["gradients"], other["gradients"], strict=False)):
        state = story.of(optimizer)
        equal, in_ratio = mine[0] == its[0], mine[1] == its[1]
        if not mine[0] or (equal and in_ratio):
            state.held = "none" if not mine[0] else state.held
            continue
        leftover = optimizer < len(left) and left[optimizer]
        if in_ratio:
            if kind == "backward":
                state.held, state.updated = "scaled", False
        elif equal:
            if kind == "backward" and state.held != "unscaled" and (not leftover or state.held != "spent"):
                text = "this backward makes gradients without the loss scale"
                yield Blame(Violation.UNSCALED_BACKWARD, place(one), text)
                state.held = "plain"
            elif kind == "unscaled" and state.held == "scaled":
                state.held = "unscaled"
            elif kind in ("rewritten", "unscale", "step") and state.held == "scaled":
                text = "gradients that carry the loss scale are cut here to what they may be"
                yield Blame(Violation.CLIP_BEFORE_UNSCALE, place(one), text)
        else:
            yield _mixed(story, state, kind, leftover, place(one))


def _mixed(story: _Story, state: _Gradients, kind: str, leftover: bool, where: Place) -> Blame:
    """The gradients are neither the same for both scales nor in their ratio: what was done to them?"""
    if kind == "backward":
        if leftover and state.held == "spent":
            text = "this backward adds to gradients that a step has used: they were not zeroed"
            return Blame(Violation.ZERO_GRAD_MISPLACED, where, text)
        if leftover and state.held == "unscaled":
            violation = Violation.MISPLACED_UPDATE if state.updated else Violation.UNSCALE_MID_ACCUMULATION
            return Blame(violation, where, "this backward adds scaled gradients to unscaled ones")
        if story.differentiated is not None:
            text = "a loss built from these gradients depends on the loss scale"
            return Blame(Violation.GRADIENT_PENALTY_UNSCALED, story.differentiated, text)
        return Blame(None, where, "the gradients of this backward depend on the loss scale")
    if kind in ("rewritten", "step", "unscale") and state.held == "scaled":
        text = "gradients are rewritten here while they are multiplied by the loss scale"
        return Blame(Violation.CLIP_BEFORE_UNSCALE, where, text)
    if kind == "unscaled" and state.held in ("unscaled", "plain"):
        violation = Violation.UNSCALE_TWICE if state.held == "unscaled" else Violation.UNSCALED_BACKWARD
        return Blame(violation, where, "gradients are divided by the loss scale that do not carry it")
    return Blame(None, where, "from here on the gradients depend on the loss scale")
