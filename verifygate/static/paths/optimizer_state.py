"""What a walk remembers of one optimizer: its state in the protocol, and of what that is the sum."""

from __future__ import annotations

from enum import StrEnum
from functools import cache
from typing import NamedTuple

from verifygate.protocol import Breach, Event, Gradients, OptimizerState, Window, advance
from verifygate.static.conditions.predicates import is_below
from verifygate.static.lowering.event_graph import Iterate, IterationPart

_BLAMED = frozenset({Event.CLIP, Event.PLAIN_BACKWARD, Event.UNSCALE, Event.SCALER_STEP, Event.UPDATE, Event.ZERO_GRAD})
_SETTLING = frozenset({Event.ZERO_GRAD, Event.SCALER_STEP, Event.OPTIMIZER_STEP, Event.CHECKED_STEP})


class Turn(StrEnum):
    """Where a loop over a collection is, for the one member that is watched."""

    AHEAD = "ahead"
    OWN = "own"
    OVER = "over"
    NONE = "none"
    """It is not among the members that the loop goes over."""


class Track(NamedTuple):
    """One optimizer on one path: its state, and the node of the latest event of each kind that can be blamed."""

    state: OptimizerState = OptimizerState()
    marks: frozenset[tuple[Event, int]] = frozenset()
    touched: bool = False
    """Some event has been about it."""
    weak: bool = False
    """Its gradients come from a backward that may have been another optimizer's."""
    emptied: bool = False
    """They were zeroed, by a call that names this optimizer, and no backward has come since."""
    turn: Turn | None = None
    """In a loop over the collection that it is the member of: whether its turn has come."""
    scales: frozenset[str] = frozenset()
    """The scalers of the backwards since they were zeroed or used, where scalers can be told apart."""

    def mark(self, event: Event) -> int | None:
        return next((node for kind, node in self.marks if kind is event), None)


def advanced(track: Track, event: Event, number: int, *, aimed: bool) -> tuple[Track, Breach | None]:
    """What the table says, but for gradients that another optimizer's backward may have left here: they were to go.

    `aimed`: the event at that node names this optimizer.
    """
    after, breach = advance(track.state, event)
    if event is Event.ZERO_GRAD and track.weak:
        after, breach = after._replace(gradients=Gradients.NONE), None
    elif event is Event.SCALER_STEP and track.emptied:
        breach = Breach("AMP212", Event.ZERO_GRAD)  # whosever they were, there is nothing to step with
    emptied = _stays_emptied(track, event, aimed)
    following = Track(
        after,
        marked(track, after, event, number, emptied=emptied),
        touched=track.touched or event in _BLAMED,
        weak=track.weak and event not in _SETTLING,
        emptied=emptied,
        turn=track.turn,
        scales=frozenset() if event in _SETTLING else track.scales,
    )
    return following, breach


def _stays_emptied(track: Track, event: Event, aimed: bool) -> bool:
    if event is Event.ZERO_GRAD:
        had_some = track.weak and track.state.gradients in (Gradients.SCALED, Gradients.UNSCALED)
        return track.emptied or (aimed and had_some)
    return track.emptied and event in (Event.UNSCALE, Event.CLIP, Event.READ, Event.UPDATE)


def weakly(track: Track, event: Event, number: int) -> Track:
    """A backward that may or may not reach this optimizer's parameters: the reading that accuses nobody."""
    scaled = event is Event.SCALED_BACKWARD
    gradients = track.state.gradients
    if gradients in (Gradients.UNSCALED, Gradients.MIXED):
        return track
    if scaled or gradients is not Gradients.UNKNOWN_CLIPPED:
        gradients = Gradients.SCALED if scaled else Gradients.PLAIN
    after = OptimizerState(gradients, track.state.window)
    return track._replace(state=after, marks=marked(track, after, event, number), weak=True, emptied=False)


def marked(
    track: Track, after: OptimizerState, event: Event, number: int, *, emptied: bool = False
) -> frozenset[tuple[Event, int]]:
    """The marks after an event: only of those that can still be blamed for something, or tell where a turn ended."""
    kinds = _blamable()[after]
    if emptied or after.gradients is Gradients.NONE:
        kinds |= {Event.ZERO_GRAD}
    marks = track.marks | {(event, number)} if event in kinds else track.marks
    return frozenset(mark for mark in marks if mark[0] in kinds and (mark[0] is not event or mark[1] == number))


def is_earlier(breach: Breach) -> bool:
    """Breaches of which the earlier event of the same kind is at fault: the step that no update followed."""
    return breach.rule == "AMP209"


@cache
def _blamable() -> dict[OptimizerState, frozenset[Event]]:
    """For every state the kinds of events before it that the protocol can blame for a breach after it."""
    states = [OptimizerState(gradients, window) for gradients in Gradients for window in Window]
    moves = {(state, event): advance(state, event) for state in states for event in Event}
    found: dict[OptimizerState, set[Event]] = {state: set() for state in states}
    for (state, event), (_, breach) in moves.items():
        if breach is not None and (breach.blame is not event or is_earlier(breach)):
            found[state].add(breach.blame)
    grown = True
    while grown:
        grown = False
        for (state, event), (after, _) in moves.items():
            more = found[after] - {event} - found[state]
            found[state] |= more
            grown = grown or bool(more)
    return {state: frozenset(kinds) for state, kinds in found.items()}


def turned(tracks: tuple[tuple[str, Track], ...], member: Iterate) -> tuple[tuple[str, Track], ...] | None:
    """Loops over a collection: the member that is watched has one turn in each; None where this cannot be it."""
    after = []
    for name, track in tracks:
        turn = track.turn
        if is_below(name, member.target):
            match member.part:
                case IterationPart.ENTER:
                    turn = Turn.AHEAD
                case IterationPart.ENTER_WITHOUT:
                    turn = Turn.NONE
                case IterationPart.TRACKED if turn is not Turn.AHEAD:
                    return None  # it has had its turn
                case IterationPart.TRACKED:
                    turn = Turn.OWN
                case IterationPart.OTHER if turn is Turn.OWN:
                    turn = Turn.OVER
                case IterationPart.LEAVE if turn is Turn.AHEAD:
                    return None  # the loop goes over all of them
                case IterationPart.LEAVE:
                    turn = None
        after.append((name, track if turn is track.turn else track._replace(turn=turn)))
    return tuple(after)


def passed_over(track: Track, event: Event, aimed: bool) -> Track:
    """What happens in the turn of another member: only a zero_grad that is about all of them is this one's too."""
    if event is Event.ZERO_GRAD and not aimed:
        return track._replace(state=track.state._replace(gradients=Gradients.NONE))
    return track
