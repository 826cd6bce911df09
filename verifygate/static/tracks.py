"""What a walk remembers of one optimizer: its state in the protocol, and of what that is the sum."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from verifygate.protocol import Breach, Event, Gradients, OptimizerState, advance
from verifygate.static.graph import Member, Part, is_below


@dataclass(frozen=True, slots=True)
class Track:
    """One optimizer on one path: its state, and the node of the latest event of each kind that can be blamed."""

    state: OptimizerState = field(default_factory=OptimizerState)
    marks: frozenset[tuple[Event, int]] = frozenset()
    weak: bool = False
    """Its gradients come from a backward that may have been another optimizer's."""
    other: Track | None = None
    """In a loop over a collection: the state of the members whose turn has not come."""

    def mark(self, event: Event) -> int | None:
        return next((node for kind, node in self.marks if kind is event), None)


def advanced(track: Track, event: Event) -> tuple[OptimizerState, Breach | None]:
    """The protocol's table, but for gradients that another optimizer's backward may have left here: they were to go."""
    after, breach = advance(track.state, event)
    if event is Event.ZERO_GRAD and track.weak:
        return replace(after, gradients=Gradients.NONE), None
    return after, breach


def weakly(track: Track, event: Event, number: int) -> Track:
    """A backward that may or may not reach this optimizer's parameters: the reading that accuses nobody."""
    scaled = event is Event.SCALED_BACKWARD
    gradients = track.state.gradients
    if gradients in (Gradients.UNSCALED, Gradients.MIXED):
        return track
    if scaled or gradients is not Gradients.UNKNOWN_CLIPPED:
        gradients = Gradients.SCALED if scaled else Gradients.PLAIN
    marks = track.marks
    if not scaled:
        marks = frozenset(mark for mark in marks if mark[0] is not event) | {(event, number)}
    other = weakly(track.other, event, number) if track.other else None
    return Track(OptimizerState(gradients, track.state.window), marks, weak=True, other=other)


def turned(tracks: tuple[tuple[str, Track], ...], member: Member) -> tuple[tuple[str, Track], ...]:
    """Loops over a collection: each member comes in the state in which the loop found it, but for what was for all."""
    turned_tracks = []
    for name, track in tracks:
        here = track
        if is_below(name, member.target):
            if member.part is Part.ENTER:
                here = replace(track, other=replace(track, other=None))
            elif member.part is Part.NEXT and track.other is not None:
                here = replace(track.other, other=track.other)
            elif member.part is Part.LEAVE:
                here = replace(track, other=None)
        turned_tracks.append((name, here))
    return tuple(turned_tracks)
