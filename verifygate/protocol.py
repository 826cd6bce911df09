"""The AMP protocol, once, as data: what GradScaler and the gradients of one optimizer go through in a window.

    autocast(forward, loss) -> scale(loss).backward() -> [unscale_] -> [clip] -> step -> update -> zero_grad

Two things are remembered per optimizer. `Gradients` is what its `.grad` tensors hold; torch keeps no note of
it, so every breach that only they show is silent. `Window` is what GradScaler itself remembers
(torch/amp/grad_scaler.py, class OptState), so a breach of it raises. A breach carries the code of a rule.

Witnesses feed events in the order in which they happen: the static stage along every path through the source,
the recorder along the one path that a run took. Neither keeps a second copy of these rules.
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


class Window(StrEnum):
    """What the scaler remembers of one optimizer since its last update."""

    UNKNOWN = "unknown"
    READY = "ready"
    UNSCALED = "unscaled"
    STEPPED = "stepped"


class OptimizerState(NamedTuple):
    gradients: Gradients = Gradients.UNKNOWN
    window: Window = Window.UNKNOWN


class Breach(NamedTuple):
    """A named break of the protocol. `blame` is the event at fault: the present one, or an earlier one."""

    rule: str
    blame: Event


class Move(NamedTuple):
    """One row of the table: in these states this event leads there. None stands for any state, or for no change."""

    event: Event
    when_gradients: frozenset[Gradients] | None = None
    when_window: frozenset[Window] | None = None
    gradients: Gradients | None = None
    window: Window | None = None
    breach: Breach | None = None


def _move(
    event: Event,
    when: Iterable[Gradients] | Gradients | None = None,
    window: Window | None = None,
    *,
    to: Gradients | None = None,
    to_window: Window | None = None,
    breach: str = "",
    blame: Event | None = None,
) -> Move:
    """A row as the table writes it: one state or several; what breaks is this event, where no other gets the blame."""
    gradients = frozenset([when] if isinstance(when, Gradients) else when) if when is not None else None
    windows = frozenset([window]) if window is not None else None
    return Move(event, gradients, windows, to, to_window, Breach(breach, blame or event) if breach else None)


_G, _W, _E = Gradients, Window, Event

MOVES: tuple[Move, ...] = (
    # A backward adds scaled gradients to whatever is there.
    _move(_E.SCALED_BACKWARD, None, _W.UNSCALED, to=_G.MIXED, breach="AMP203", blame=_E.UNSCALE),
    _move(_E.SCALED_BACKWARD, _G.UNSCALED, to=_G.MIXED, breach="AMP203", blame=_E.UNSCALE),
    _move(_E.SCALED_BACKWARD, _G.STALE, breach="AMP210", blame=_E.UPDATE),
    _move(_E.SCALED_BACKWARD, _G.PLAIN, to=_G.MIXED, breach="AMP206", blame=_E.PLAIN_BACKWARD),
    _move(_E.SCALED_BACKWARD, _G.SPENT, to=_G.SCALED, breach="AMP212"),
    _move(_E.SCALED_BACKWARD, _G.CLEARED, to=_G.SCALED, breach="AMP212", blame=_E.ZERO_GRAD),
    _move(_E.SCALED_BACKWARD, _G.MIXED),
    _move(_E.SCALED_BACKWARD, to=_G.SCALED),
    # A backward without scale is right as long as no scaler ever divides what it made.
    _move(_E.PLAIN_BACKWARD, (_G.SCALED, _G.STALE), to=_G.MIXED, breach="AMP206"),
    _move(_E.PLAIN_BACKWARD, (_G.UNSCALED, _G.MIXED)),
    _move(_E.PLAIN_BACKWARD, _G.SPENT, to=_G.PLAIN, breach="AMP212"),
    _move(_E.PLAIN_BACKWARD, _G.CLEARED, to=_G.PLAIN, breach="AMP212", blame=_E.ZERO_GRAD),
    _move(_E.PLAIN_BACKWARD, to=_G.PLAIN),
    # unscale_ divides once per window, and only what a scaled backward made in this window.
    _move(_E.UNSCALE, _G.MIXED, _W.UNSCALED),  # the backward between the two was the fault
    _move(_E.UNSCALE, None, _W.UNSCALED, to=_G.UNSCALED, breach="AMP202"),
    _move(  # new gradients: what is missing is the update after the step
        _E.UNSCALE, _G.SCALED, _W.STEPPED, to=_G.UNSCALED, to_window=_W.UNSCALED, breach="AMP209", blame=_E.SCALER_STEP
    ),
    _move(_E.UNSCALE, None, _W.STEPPED, to_window=_W.UNSCALED, breach="AMP202"),
    _move(_E.UNSCALE, _G.PLAIN, to=_G.UNSCALED, to_window=_W.UNSCALED, breach="AMP206", blame=_E.PLAIN_BACKWARD),
    _move(_E.UNSCALE, _G.STALE, to=_G.UNSCALED, to_window=_W.UNSCALED, breach="AMP210", blame=_E.UPDATE),
    _move(_E.UNSCALE, _G.UNSCALED, _W.READY, to_window=_W.UNSCALED, breach="AMP210", blame=_E.UPDATE),
    _move(_E.UNSCALE, _G.UNKNOWN_CLIPPED, to=_G.UNSCALED, to_window=_W.UNSCALED, breach="AMP201", blame=_E.CLIP),
    _move(_E.UNSCALE, to=_G.UNSCALED, to_window=_W.UNSCALED),
    # A clip compares a norm with a threshold: the scale must be out of it, and the step still ahead.
    _move(_E.CLIP, (_G.SCALED, _G.STALE), breach="AMP201"),
    _move(_E.CLIP, _G.SPENT, _W.STEPPED, breach="AMP211"),
    _move(_E.CLIP, _G.SPENT, _W.READY, breach="AMP211"),
    _move(_E.CLIP, _G.UNKNOWN, _W.UNKNOWN, to=_G.UNKNOWN_CLIPPED),
    _move(_E.CLIP),
    # scaler.step unscales what is not unscaled yet, skips on inf, and may come once per window.
    _move(_E.SCALER_STEP, None, _W.STEPPED, to=_G.SPENT, breach="AMP209", blame=_E.SCALER_STEP),
    _move(_E.SCALER_STEP, _G.PLAIN, to=_G.SPENT, to_window=_W.STEPPED, breach="AMP206", blame=_E.PLAIN_BACKWARD),
    _move(_E.SCALER_STEP, _G.STALE, to=_G.SPENT, to_window=_W.STEPPED, breach="AMP210", blame=_E.UPDATE),
    _move(  # it does not remember that they are unscaled, and divides a second time
        _E.SCALER_STEP, _G.UNSCALED, _W.READY, to=_G.SPENT, to_window=_W.READY, breach="AMP210", blame=_E.UPDATE
    ),
    _move(_E.SCALER_STEP, _G.CLEARED, to=_G.NONE, to_window=_W.STEPPED, breach="AMP212", blame=_E.ZERO_GRAD),
    _move(_E.SCALER_STEP, to=_G.SPENT, to_window=_W.STEPPED),
    # The optimizer's own step knows nothing of the scale, and nothing of inf.
    _move(_E.OPTIMIZER_STEP, _G.SPENT, _W.STEPPED, breach="AMP208"),
    _move(_E.OPTIMIZER_STEP, _G.SPENT, _W.READY, breach="AMP208"),
    _move(_E.OPTIMIZER_STEP, (_G.SCALED, _G.STALE, _G.UNSCALED), to=_G.SPENT, breach="AMP207"),
    _move(_E.OPTIMIZER_STEP, (_G.NONE, _G.UNKNOWN)),  # a step before the first backward, to please a scheduler
    _move(_E.OPTIMIZER_STEP, to=_G.SPENT),
    _move(_E.CHECKED_STEP, _G.SPENT, _W.STEPPED, breach="AMP208"),
    _move(_E.CHECKED_STEP, (_G.SCALED, _G.STALE), to=_G.SPENT, breach="AMP207"),
    _move(_E.CHECKED_STEP, (_G.NONE, _G.UNKNOWN)),
    _move(_E.CHECKED_STEP, to=_G.SPENT),
    # update opens the next window; scaled gradients that are still waiting keep the old scale.
    _move(_E.UPDATE, _G.SCALED, _W.READY, to=_G.STALE),
    _move(_E.UPDATE, _G.SCALED, _W.UNKNOWN, to=_G.STALE, to_window=_W.READY),
    _move(_E.UPDATE, (_G.UNKNOWN, _G.UNKNOWN_CLIPPED), _W.UNKNOWN),
    _move(_E.UPDATE, to_window=_W.READY),
    # Zeroing what no step has used yet throws a backward away.
    _move(_E.ZERO_GRAD, _G.UNSCALED, _W.READY, to=_G.NONE),  # a step left out on purpose: unscale_ and update came
    _move(_E.ZERO_GRAD, (_G.PLAIN, _G.SCALED, _G.STALE, _G.UNSCALED, _G.MIXED), to=_G.CLEARED),
    _move(_E.ZERO_GRAD, _G.CLEARED),
    _move(_E.ZERO_GRAD, to=_G.NONE),
    # Only unscaled gradients can be compared with anything.
    _move(_E.READ, (_G.SCALED, _G.STALE), breach="AMP204"),
    _move(_E.READ),
)

_BY_EVENT: dict[Event, tuple[Move, ...]] = {
    event: tuple(move for move in MOVES if move.event is event) for event in Event
}


@cache
def advance(state: OptimizerState, event: Event) -> tuple[OptimizerState, Breach | None]:
    """The state after `event`, and the breach if the event is one. Every event is allowed to happen in every state."""
    for move in _BY_EVENT[event]:
        if move.when_gradients is not None and state.gradients not in move.when_gradients:
            continue
        if move.when_window is not None and state.window not in move.when_window:
            continue
        return OptimizerState(move.gradients or state.gradients, move.window or state.window), move.breach
    raise LookupError(f"the table has no row for {event} in {state}")
