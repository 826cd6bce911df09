"""An event graph as text: which event may follow which, and on which lines the two stand."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator

import pytest

from verifygate.base.fixpoint import fixpoint
from verifygate.static.lowering.event_graph import Backward, Enter, ForeignBackward, Graph, Leave, Node, Signal
from verifygate.static.lowering.lower import Lowering
from verifygate.static.lowering.reachability import Reachability

_EVENTS = Signal | Backward | ForeignBackward | Enter | Leave
SETUP = """
import contextlib, torch

model = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cuda")

"""
Flow = Callable[[str], list[str]]


@pytest.fixture
def lowered(analysed) -> Callable[[str], Graph]:
    """Source after SETUP -> the event graph of its function `train`."""

    def build(code: str) -> Graph:
        seen = analysed(SETUP + textwrap.dedent(code).lstrip())
        (root,) = (function for function in seen.functions if function.symbol == "train")
        return Lowering(root, seen.roles, Reachability(seen.roles)).lower()

    return build


@pytest.fixture
def flow(lowered) -> Flow:
    """Source after SETUP -> the events that may follow each other, `event@line > event@line`, lines without SETUP."""
    return lambda code: list(edges(lowered(code), SETUP.count("\n")))


def edges(graph: Graph, offset: int = 0) -> Iterator[str]:
    """Each event of a graph with those that follow it, through nodes without an event."""
    for number, node in enumerate(graph.nodes):
        if number and not isinstance(node.payload, _EVENTS):
            continue
        for following in sorted(next_events(graph, number)):
            yield f"{event(node, offset)} > {event(graph.nodes[following], offset)}"


def next_events(graph: Graph, number: int) -> list[int]:
    def onward(each: int) -> list[int]:
        is_event = isinstance(graph.nodes[each].payload, _EVENTS)
        return [] if is_event else [successor for successor, _ in graph.nodes[each].successors]

    met = fixpoint([successor for successor, _ in graph.nodes[number].successors], onward)
    return [each for each in met if isinstance(graph.nodes[each].payload, _EVENTS)]


def event(node: Node, offset: int = 0) -> str:
    match node.payload:
        case Signal(event=kind):
            name = kind.value
        case Backward() | ForeignBackward() | Enter() | Leave():
            name = type(node.payload).__name__.lower()
        case _:
            return "start"
    return f"{name}@{node.place.line - offset}"
