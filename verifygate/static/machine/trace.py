"""What a run leaves besides its state: events, what was not followed, and what was done with its inputs.

Each thing is kept once, where it came first. A call that is answered by an earlier one leaves what that one left: the
same objects, unless it happens under other decisions.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from verifygate.base.records import record
from verifygate.events.record import Event, Frame, Kind
from verifygate.static.machine.observations import Observation
from verifygate.static.machine.values import Decisions, Unknown
from verifygate.static.uses.roles import Use


@record(eq=False)
class Emitted:
    """An event, and under which decisions it happens. In one run there is one object for all that are alike."""

    event: Event
    """Where it happens is one frame, the innermost: many chains of calls may lead there."""
    decisions: Decisions
    is_partial: bool = False
    """It comes after a limit, a widened loop, or inside a handler."""
    seen: Observation | None = None
    """What rules read of it beyond what a recorded run can say."""


class Trace:
    """What one call leaves, or a whole entry. The keys of each dict are what there is, in order."""

    __slots__ = ("events", "stepped", "unknowns", "uses")

    def __init__(self) -> None:
        self.events: dict[Emitted, None] = {}
        self.unknowns: dict[Unknown, None] = {}
        """What was not followed."""
        self.uses: dict[tuple[str, Use], None] = {}
        """Inputs and what was done with them, which tells what they are (`inputs.py`)."""
        self.stepped: dict[tuple[str, str], None] = {}
        """Pairs of inputs: one was handed to the `step` of the other."""

    def add(self, other: Trace) -> None:
        """Let this one have what another one has."""
        self.events.update(other.events)
        self.add_but_events(other)

    def add_but_events(self, other: Trace) -> None:
        self.unknowns.update(other.unknowns)
        self.uses.update(other.uses)
        self.stepped.update(other.stepped)


class Events:
    """One object for all events that are alike."""

    def __init__(self) -> None:
        self._events: dict[Hashable, Event] = {}
        self._emitted: dict[Hashable, Emitted] = {}

    def event(self, kind: Kind, path: str, symbol: str, line: int, attributes: dict[str, Any]) -> Event:
        """The event of a kind at a place; none where the path is empty."""
        key = (kind, path, symbol, line, *attributes.items())
        found = self._events.get(key)
        if found is None:
            frames = (Frame(path, symbol, line),) if path else ()
            found = self._events[key] = Event(kind, frames, **attributes)
        return found

    def emitted(self, event: Event, decisions: Decisions, is_partial: bool, seen: Observation | None = None) -> Emitted:
        """The same under decisions. The event is one of `event`."""
        key = (id(event), decisions, is_partial, seen)
        found = self._emitted.get(key)
        if found is None:
            found = self._emitted[key] = Emitted(event, decisions, is_partial, seen)
        return found
