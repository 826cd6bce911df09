"""Labels of an error path for a report: its events, and the calls that lead to them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import takewhile

from verifygate.static.lowering.event_graph import Backward, Enter, ForeignBackward, Node, Signal
from verifygate.static.symbols.location import Location

CALL = "call"
Calls = tuple[Location, ...]


def labelled(events: Sequence[Node]) -> tuple[tuple[Location, str], ...]:
    """Place and name of each event, and of the calls that lead to it from the call site of the event before.

    Calls that lead to all of the events say nothing about the path, and are left out.
    """
    found: list[tuple[Location, str]] = []
    behind = reduce(_shared, (event.calls for event in events), events[0].calls if events else ())
    for event in events:
        found += [(call, CALL) for call in event.calls[len(_shared(behind, event.calls)) :]]
        found.append((event.place, _name(event)))
        behind = event.calls
    return tuple(found)


def _shared(one: Calls, other: Calls) -> Calls:
    """The calls with which both begin."""
    return tuple(here for here, _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _name(node: Node) -> str:
    match node.payload:
        case Signal(event=event):
            return event.value
        case Backward(scaled=scaled):
            return "scaled backward" if scaled else "backward"
        case ForeignBackward():
            return "backward by a library"
        case Enter(active=active):
            return "enter autocast" if active else "enter autocast(enabled=False)"
    return "leave autocast"
