"""The AMP protocol as a transition table: what GradScaler and the gradients of one optimizer go through in a window.

    autocast(forward, loss) -> scale(loss).backward() -> [unscale_] -> [clip] -> step -> update -> zero_grad

The state of one optimizer has two parts. `Gradients` is what its `.grad` tensors hold; torch keeps no note of it, so a
violation that only they show is silent. `ScalerState` is what GradScaler itself remembers of the optimizer
(torch/amp/grad_scaler.py, class OptState), so a violation of it raises.

Witnesses feed events in the order in which they happen: the static stage along every path through the source, the
recorder along the one path that a run took. Neither keeps a copy of these rules, nor of the exceptions to them: what
either of them needs to know of a violation beside its row stands in the violation's `traits`.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from functools import cache
from typing import NamedTuple


class Event(StrEnum):
    """What happens to one optimizer's gradients, or to its scaler."""

    SCALED_BACKWARD = "scaled backward"
    PLAIN_BACKWARD = "plain backward"
    UNSCALE = "unscale_"
    CLIP = "clip"
    SCALER_STEP = "scaler.step"
    OPTIMIZER_STEP = "optimizer.step"
    CHECKED_STEP = "optimizer.step behind a finite check"
    """A direct step that a hand-written test for inf and NaN guards."""
    UPDATE = "update"
    ZERO_GRAD = "zero_grad"
    WRITE = "gradients written by hand"
    """`p.grad = old - p.data`: numbers that no scaler has multiplied."""
    ASSIGN = "gradients assigned from elsewhere"
    """Gradients that were kept, or come of another function: of which scale, is not known."""
    READ = "gradients read"
    """A norm, a histogram or another measure of the gradients that is not linear in them, or noise added to them."""


class Gradients(StrEnum):
    """What the `.grad` tensors of one optimizer hold."""

    UNKNOWN = "unknown"
    UNKNOWN_CLIPPED = "unknown, clipped since"
    NONE = "none"
    CLEARED = "cleared before a step used them"
    PLAIN = "plain"
    SCALED = "scaled"
    STALE = "scaled before the last update"
    UNSCALED = "unscaled"
    MIXED = "scaled and unscaled mixed"
    SPENT = "spent by a step"
    WRITTEN = "written by hand"


class ScalerState(StrEnum):
    """What the scaler remembers of one optimizer since its last update: torch's OptState."""

    UNKNOWN = "unknown"
    READY = "ready"
    UNSCALED = "unscaled"
    STEPPED = "stepped"


class OptimizerState(NamedTuple):
    gradients: Gradients = Gradients.UNKNOWN
    scaler: ScalerState = ScalerState.UNKNOWN


class Traits(NamedTuple):
    """What the engines have to know of a violation beside the row of the table that names it."""

    across_steps: bool = False
    """One call of a training step may leave it for the next call: the step is walked a second time to see."""
    blames_earlier: bool = False
    """The earlier event of the kind is at fault, as the step that no update followed."""
    needs_same_iteration: bool = False
    """It is one only within an iteration of the training loop."""
    depends_on_unscale: bool = False
    """It depends on whether the gradients are unscaled: dropped on a path that asks the scaler itself for that."""
    counts_when_used: bool = False
    """The gradients become wrong by it: harmless where no step uses them."""
    about_zero_grad: bool = False
    """Gradients are zeroed too early or never. It is dropped where other code on the path may zero them."""
    reads_gradients: bool = False
    """Something looks at the gradients: after a loop it sees what the last iteration left."""
    about_other_scaler: bool = False
    """Which scaler multiplied the loss decides: an optimizer with a backward of its own has its own."""
    guard_at_fault: bool = False
    """Where a hand-written check for inf and NaN led past the update, that check is what is wrong."""


_NONE = Traits()


class Violation(StrEnum):
    """The rules of AMP that other modules than the rules themselves name: the name and the code of each."""

    traits: Traits

    def __new__(cls, code: str, traits: Traits = _NONE) -> Violation:
        member = str.__new__(cls, code)
        member._value_ = code
        member.traits = traits
        return member

    @property
    def rule_name(self) -> str:
        """The name of the rule: `clip-before-unscale`."""
        return self.name.lower().replace("_", "-")

    @property
    def under_guard(self) -> Violation:
        """The violation that it is where a hand-written check for inf and NaN led past the update."""
        return Violation.SKIP_GUARD_BREAKS_SCALER if self.traits.guard_at_fault else self

    BACKWARD_IN_AUTOCAST = "AMP101"
    STEP_IN_AUTOCAST = "AMP102"
    AUTOCAST_NOT_ENTERED = "AMP103"
    AUTOCAST_STALE_WEIGHTS = "AMP104"
    AUTOCAST_DEVICE_MISMATCH = "AMP105"
    AUTOCAST_LOST_IN_THREADS = "AMP107"
    LOSS_OUTSIDE_AUTOCAST = "AMP110"
    CLIP_BEFORE_UNSCALE = "AMP201", Traits(depends_on_unscale=True, counts_when_used=True)
    UNSCALE_TWICE = "AMP202", Traits(across_steps=True, depends_on_unscale=True, guard_at_fault=True)
    UNSCALE_MID_ACCUMULATION = (
        "AMP203",
        Traits(across_steps=True, depends_on_unscale=True, counts_when_used=True, guard_at_fault=True),
    )
    SCALED_GRADIENT_READ = "AMP204", Traits(depends_on_unscale=True, reads_gradients=True)
    GRADIENT_PENALTY_UNSCALED = "AMP205"
    UNSCALED_BACKWARD = "AMP206", Traits(counts_when_used=True)
    STEP_BYPASSES_SCALER = "AMP207"
    DOUBLE_STEP = "AMP208", Traits(needs_same_iteration=True)
    MISSING_UPDATE = "AMP209", Traits(across_steps=True, blames_earlier=True, guard_at_fault=True)
    MISPLACED_UPDATE = "AMP210", Traits(across_steps=True, counts_when_used=True, guard_at_fault=True)
    CLIP_AFTER_STEP = "AMP211", Traits(needs_same_iteration=True)
    ZERO_GRAD_MISPLACED = "AMP212", Traits(counts_when_used=True, about_zero_grad=True)
    SCHEDULER_IGNORES_SKIP = "AMP213"
    SKIP_GUARD_BREAKS_SCALER = "AMP214", Traits(across_steps=True)
    CLOSURE_WITH_SCALER = "AMP215"
    STEP_WRONG_OBJECT = "AMP217", Traits(about_other_scaler=True)
    NO_SYNC_INVERTED = "AMP218"
    CLIP_OVER_EXHAUSTED_ITERATOR = "AMP219"
    UNEQUAL_BRANCHES = "AMP220"
    WINDOW_LEFT_OPEN = "AMP221"
    SCALER_RECREATED = "AMP301"
    SCALER_NOT_CHECKPOINTED = "AMP302"
    ENABLED_MISMATCH = "AMP303"
    BF16_WITH_SCALER = "AMP304"
    FP16_WITHOUT_SCALER = "AMP305"
    SCALER_MISCONSTRUCTED = "AMP306"
    SHARDED_NEEDS_SHARDED_SCALER = "AMP307"
    HALF_PARAMETERS_WITH_SCALER = "AMP401"
    EPSILON_UNDERFLOW = "AMP402"
    MASK_OVERFLOW = "AMP403"
    UNSAFE_LOSS = "AMP404"
    HALF_CAST_IN_AUTOCAST = "AMP405"
    DEPRECATED_AMP_API = "AMP501"
    LOW_PRECISION_WEIGHTS = "AMP701"
    POLICY_OVER_HALF_WEIGHTS = "AMP802"
    HALF_REDUCTION = "AMP803"


class Fault(NamedTuple):
    """A violation, and the kind of event at fault: the present event, or an earlier one."""

    violation: Violation
    event: Event


class Transition(NamedTuple):
    """One row of the table: in these states this event leads there. None stands for any state, or for no change."""

    event: Event
    when_gradients: frozenset[Gradients] | None = None
    when_scaler: frozenset[ScalerState] | None = None
    gradients: Gradients | None = None
    scaler: ScalerState | None = None
    fault: Fault | None = None


def _row(
    event: Event,
    when: Iterable[Gradients] | Gradients | None = None,
    scaler: ScalerState | None = None,
    *,
    to: Gradients | None = None,
    then: ScalerState | None = None,
    breaks: Violation | None = None,
    by: Event | None = None,
) -> Transition:
    """A row as the table writes it: one state or several; `breaks` names what it violates, `by` the event at fault."""
    gradients = frozenset([when] if isinstance(when, Gradients) else when) if when is not None else None
    states = frozenset([scaler]) if scaler is not None else None
    return Transition(event, gradients, states, to, then, Fault(breaks, by or event) if breaks is not None else None)


_G, _S, _E, _V = Gradients, ScalerState, Event, Violation

TRANSITIONS: tuple[Transition, ...] = (
    # A backward adds scaled gradients to whatever is there.
    # nothing is there to mix with: the next unscale_ raises, and a step would use them as they are
    _row(_E.SCALED_BACKWARD, (_G.NONE, _G.CLEARED), _S.UNSCALED, to=_G.SCALED),
    _row(_E.SCALED_BACKWARD, _G.SCALED, _S.UNSCALED),
    _row(_E.SCALED_BACKWARD, None, _S.UNSCALED, to=_G.MIXED, breaks=_V.UNSCALE_MID_ACCUMULATION, by=_E.UNSCALE),
    _row(_E.SCALED_BACKWARD, _G.UNSCALED, to=_G.MIXED, breaks=_V.UNSCALE_MID_ACCUMULATION, by=_E.UNSCALE),
    _row(_E.SCALED_BACKWARD, _G.STALE, breaks=_V.MISPLACED_UPDATE, by=_E.UPDATE),
    _row(_E.SCALED_BACKWARD, _G.PLAIN, to=_G.MIXED, breaks=_V.UNSCALED_BACKWARD, by=_E.PLAIN_BACKWARD),
    _row(_E.SCALED_BACKWARD, _G.SPENT, to=_G.SCALED, breaks=_V.ZERO_GRAD_MISPLACED),
    _row(_E.SCALED_BACKWARD, _G.CLEARED, to=_G.SCALED, breaks=_V.ZERO_GRAD_MISPLACED, by=_E.ZERO_GRAD),
    _row(_E.SCALED_BACKWARD, _G.MIXED),
    _row(_E.SCALED_BACKWARD, _G.WRITTEN, to=_G.UNKNOWN),
    _row(_E.SCALED_BACKWARD, to=_G.SCALED),
    # A backward without scale is right as long as no scaler ever divides what it made.
    _row(_E.PLAIN_BACKWARD, (_G.SCALED, _G.STALE), to=_G.MIXED, breaks=_V.UNSCALED_BACKWARD),
    _row(_E.PLAIN_BACKWARD, (_G.UNSCALED, _G.MIXED)),
    _row(_E.PLAIN_BACKWARD, _G.WRITTEN, to=_G.UNKNOWN),
    _row(_E.PLAIN_BACKWARD, _G.SPENT, to=_G.PLAIN, breaks=_V.ZERO_GRAD_MISPLACED),
    _row(_E.PLAIN_BACKWARD, _G.CLEARED, to=_G.PLAIN, breaks=_V.ZERO_GRAD_MISPLACED, by=_E.ZERO_GRAD),
    _row(_E.PLAIN_BACKWARD, to=_G.PLAIN),
    # What a hand writes is in place of what was there: no scaler has multiplied it.
    _row(_E.WRITE, to=_G.WRITTEN),
    _row(_E.ASSIGN, to=_G.UNKNOWN),
    # unscale_ divides once per window, and only what a scaled backward made in this window.
    _row(_E.UNSCALE, _G.MIXED, _S.UNSCALED),  # the backward between the two was the fault
    _row(_E.UNSCALE, None, _S.UNSCALED, to=_G.UNSCALED, breaks=_V.UNSCALE_TWICE),
    # new gradients: what is missing is the update after the step
    _row(
        _E.UNSCALE, _G.SCALED, _S.STEPPED, to=_G.UNSCALED, then=_S.UNSCALED, breaks=_V.MISSING_UPDATE, by=_E.SCALER_STEP
    ),
    _row(_E.UNSCALE, None, _S.STEPPED, then=_S.UNSCALED, breaks=_V.UNSCALE_TWICE),
    _row(_E.UNSCALE, _G.WRITTEN, to=_G.UNSCALED, then=_S.UNSCALED, breaks=_V.UNSCALED_BACKWARD, by=_E.WRITE),
    _row(_E.UNSCALE, _G.PLAIN, to=_G.UNSCALED, then=_S.UNSCALED, breaks=_V.UNSCALED_BACKWARD, by=_E.PLAIN_BACKWARD),
    _row(_E.UNSCALE, _G.STALE, to=_G.UNSCALED, then=_S.UNSCALED, breaks=_V.MISPLACED_UPDATE, by=_E.UPDATE),
    _row(_E.UNSCALE, _G.UNSCALED, _S.READY, then=_S.UNSCALED, breaks=_V.MISPLACED_UPDATE, by=_E.UPDATE),
    _row(_E.UNSCALE, _G.UNKNOWN_CLIPPED, to=_G.UNSCALED, then=_S.UNSCALED, breaks=_V.CLIP_BEFORE_UNSCALE, by=_E.CLIP),
    _row(_E.UNSCALE, _G.CLEARED, then=_S.UNSCALED, breaks=_V.ZERO_GRAD_MISPLACED, by=_E.ZERO_GRAD),
    _row(_E.UNSCALE, to=_G.UNSCALED, then=_S.UNSCALED),
    # A clip compares a norm with a threshold: the scale must be out of it, and the step still ahead.
    _row(_E.CLIP, (_G.SCALED, _G.STALE), breaks=_V.CLIP_BEFORE_UNSCALE),
    _row(_E.CLIP, _G.SPENT, _S.STEPPED, breaks=_V.CLIP_AFTER_STEP),
    _row(_E.CLIP, _G.SPENT, _S.READY, breaks=_V.CLIP_AFTER_STEP),
    _row(_E.CLIP, _G.UNKNOWN, _S.UNKNOWN, to=_G.UNKNOWN_CLIPPED),
    _row(_E.CLIP),
    # scaler.step unscales what is not unscaled yet, skips on inf, and may come once per window.
    _row(_E.SCALER_STEP, None, _S.STEPPED, to=_G.SPENT, breaks=_V.MISSING_UPDATE, by=_E.SCALER_STEP),
    _row(
        _E.SCALER_STEP,
        (_G.SCALED, _G.STALE),
        _S.UNSCALED,
        to=_G.SPENT,
        then=_S.STEPPED,
        breaks=_V.UNSCALE_MID_ACCUMULATION,
        by=_E.UNSCALE,
    ),
    _row(_E.SCALER_STEP, _G.WRITTEN, to=_G.SPENT, then=_S.STEPPED, breaks=_V.UNSCALED_BACKWARD, by=_E.WRITE),
    _row(_E.SCALER_STEP, _G.PLAIN, to=_G.SPENT, then=_S.STEPPED, breaks=_V.UNSCALED_BACKWARD, by=_E.PLAIN_BACKWARD),
    _row(_E.SCALER_STEP, _G.STALE, to=_G.SPENT, then=_S.STEPPED, breaks=_V.MISPLACED_UPDATE, by=_E.UPDATE),
    # it does not remember that they are unscaled, and divides a second time
    _row(_E.SCALER_STEP, _G.UNSCALED, _S.READY, to=_G.SPENT, then=_S.READY, breaks=_V.MISPLACED_UPDATE, by=_E.UPDATE),
    _row(_E.SCALER_STEP, _G.CLEARED, to=_G.NONE, then=_S.STEPPED, breaks=_V.ZERO_GRAD_MISPLACED, by=_E.ZERO_GRAD),
    _row(_E.SCALER_STEP, to=_G.SPENT, then=_S.STEPPED),
    # The optimizer's own step knows nothing of the scale, and nothing of inf.
    _row(_E.OPTIMIZER_STEP, _G.SPENT, _S.STEPPED, breaks=_V.DOUBLE_STEP),
    _row(_E.OPTIMIZER_STEP, _G.SPENT, _S.READY, breaks=_V.DOUBLE_STEP),
    _row(_E.OPTIMIZER_STEP, (_G.SCALED, _G.STALE, _G.UNSCALED), to=_G.SPENT, breaks=_V.STEP_BYPASSES_SCALER),
    _row(_E.OPTIMIZER_STEP, (_G.NONE, _G.UNKNOWN)),  # a step before the first backward, to please a scheduler
    _row(_E.OPTIMIZER_STEP, to=_G.SPENT),
    _row(_E.CHECKED_STEP, _G.SPENT, _S.STEPPED, breaks=_V.DOUBLE_STEP),
    _row(_E.CHECKED_STEP, (_G.SCALED, _G.STALE), to=_G.SPENT, breaks=_V.STEP_BYPASSES_SCALER),
    _row(_E.CHECKED_STEP, (_G.NONE, _G.UNKNOWN)),
    _row(_E.CHECKED_STEP, to=_G.SPENT),
    # update opens the next window; scaled gradients that are still waiting keep the old scale.
    _row(_E.UPDATE, _G.SCALED, _S.READY, to=_G.STALE),
    _row(_E.UPDATE, _G.SCALED, _S.UNKNOWN, to=_G.STALE, then=_S.READY),
    _row(_E.UPDATE, (_G.UNKNOWN, _G.UNKNOWN_CLIPPED), _S.UNKNOWN),
    _row(_E.UPDATE, then=_S.READY),
    # Zeroing what no step has used yet throws a backward away.
    _row(_E.ZERO_GRAD, _G.UNSCALED, _S.READY, to=_G.NONE),  # a step left out on purpose: unscale_ and update came
    _row(_E.ZERO_GRAD, (_G.PLAIN, _G.SCALED, _G.STALE, _G.UNSCALED, _G.MIXED), to=_G.CLEARED),
    _row(_E.ZERO_GRAD, _G.CLEARED),
    _row(_E.ZERO_GRAD, to=_G.NONE),
    # Only unscaled gradients can be compared with anything.
    _row(_E.READ, (_G.SCALED, _G.STALE), breaks=_V.SCALED_GRADIENT_READ),
    _row(_E.READ),
)

SCALER_ERRORS = {
    "unscale_() has already been called": Violation.UNSCALE_TWICE,
    "unscale_() is being called after step()": Violation.MISSING_UPDATE,
    "step() has already been called": Violation.MISSING_UPDATE,
    "No inf checks were recorded for this optimizer": Violation.ZERO_GRAD_MISPLACED,
    "No inf checks were recorded prior to update": Violation.MISPLACED_UPDATE,
    "Closure use is not currently supported": Violation.CLOSURE_WITH_SCALER,
    "Attempting to unscale FP16 gradients": Violation.HALF_PARAMETERS_WITH_SCALER,
    "_scale is None": Violation.UNSCALED_BACKWARD,
}
"""Part of a message of GradScaler -> the rule whose violation raises it."""

BY_PATHS: frozenset[Violation] = frozenset(row.fault.violation for row in TRANSITIONS if row.fault is not None) | {
    _V.BACKWARD_IN_AUTOCAST,
    _V.STEP_IN_AUTOCAST,
    _V.AUTOCAST_STALE_WEIGHTS,
    _V.SKIP_GUARD_BREAKS_SCALER,
    _V.STEP_WRONG_OBJECT,
    _V.UNEQUAL_BRANCHES,
    _V.WINDOW_LEFT_OPEN,
}
"""What is decided by following the paths of a program: of a function that was given up, nothing of this is known."""

_BY_EVENT: dict[Event, tuple[Transition, ...]] = {
    event: tuple(row for row in TRANSITIONS if row.event is event) for event in Event
}


@cache
def advance(state: OptimizerState, event: Event) -> tuple[OptimizerState, Fault | None]:
    """The state after `event`, and what it violates, if anything. Any event may happen in any state."""
    for row in _BY_EVENT[event]:
        if row.when_gradients is not None and state.gradients not in row.when_gradients:
            continue
        if row.when_scaler is not None and state.scaler not in row.when_scaler:
            continue
        return OptimizerState(row.gradients or state.gradients, row.scaler or state.scaler), row.fault
    raise LookupError(f"the table has no row for {event} in {state}")
