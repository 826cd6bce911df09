"""Put an event graph together: nodes, the edges that wait for the next one, and parts that turn out to be empty."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property

from verifygate.base.records import field, record
from verifygate.static.conditions.predicates import Fact
from verifygate.static.lowering.event_graph import Assign, Branch, Graph, Member, Node, Pass, Payload
from verifygate.static.symbols.location import Place
from verifygate.static.symbols.program import Function
from verifygate.static.values.domain import Frame

MAX_NODES = 6000

Edges = list[tuple[int, Fact | None]]
AtYield = Callable[[ast.expr | None, "Activation"], None]
"""What a generator's caller does with what it yields, told the generator's own activation."""


class TooLargeError(Exception):
    """The graph grew past its limit: the caller falls back to smaller roots."""


@record(eq=False, frozen=False)
class Loop:
    """The edges out of a loop that is being lowered, other than its end."""

    breaks: Edges = field(default_factory=list)
    continues: Edges = field(default_factory=list)
    picks: int = 0
    """How many conditions in it pick what the present statement is about."""


@record(eq=False, frozen=False, slots=False)
class Activation:
    """One function being lowered: where its returns lead, and the loops open in it."""

    frame: Frame
    returns: Edges = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    guards: int = 0
    """How many conditions around the present statement are hand-written finite checks."""
    result: str = ""
    """Canonical path of what it returns; empty for the root."""
    at_yield: AtYield | None = None
    """Of a generator: what is run where it yields."""

    @cached_property
    def homes(self) -> frozenset[str]:
        """The function and its callers, as a node names them."""
        found = set()
        frame: Frame | None = self.frame
        while frame is not None:
            found.add(f"{frame.function.module.path}:{frame.function.symbol}")
            frame = frame.caller
        return frozenset(found)

    @cached_property
    def calls(self) -> tuple[Place, ...]:
        """The calls that led to it, from the root's own on."""
        found = []
        frame: Frame | None = self.frame
        while frame is not None and frame.caller is not None and frame.call is not None:
            found.append(Place(frame.caller.function, frame.call))
            frame = frame.caller
        return tuple(reversed(found))


class Builder:
    """Holds the graph of one root. `_loose` are the edges that wait for the next node."""

    def __init__(self, root: Function) -> None:
        self.graph = Graph(root)
        self._loose: Edges = []
        self._loops: list[int] = []
        """Numbers of the loops around the present statement."""
        self._members: list[str] = []
        """Collections of optimizers that those loops go over."""
        self._jump_count = 0
        """How many statements so far leave the straight way."""

    def _emit(self, payload: Payload, node: ast.AST, here: Activation) -> int:
        number = len(self.graph.nodes)
        if number >= MAX_NODES:
            raise TooLargeError
        place = Place(here.frame.function, node)
        around = (tuple(self._loops), tuple(self._members), here.calls)
        self.graph.nodes.append(Node(payload, place, here.homes, [], *around))
        self._connect(self._loose, number)
        self._loose = [(number, None)]
        return number

    def _connect(self, edges: Edges, number: int) -> None:
        for source, fact in edges:
            self.graph.nodes[source].successors.append((number, fact))

    @contextmanager
    def _prunable(self) -> Iterator[None]:
        """Undo the branches of a part that holds no event and no jump: its assignments are kept in a row."""
        start, before = len(self.graph.nodes), list(self._loose)
        jumps = self._jump_count
        yield
        added = self.graph.nodes[start:]
        if self._jump_count != jumps or not all(
            isinstance(node.payload, Branch | Assign | Member | Pass) for node in added
        ):
            return
        if any(isinstance(node.payload, Assign) and self._decides(node.payload) for node in added):
            return
        del self.graph.nodes[start:]
        for source, _ in before:
            successors = self.graph.nodes[source].successors
            successors[:] = [edge for edge in successors if edge[0] < start]
        self._loose = before
        for node in added:
            if isinstance(node.payload, Assign):
                number = len(self.graph.nodes)
                node.successors.clear()
                self.graph.nodes.append(node)
                self._connect(self._loose, number)
                self._loose = [(number, None)]

    def _decides(self, assign: Assign) -> bool:
        """Whether it matters on which paths an assignment is made: it settles a condition, or scales a loss.

        Or it puts another optimizer, or what goes by such a name, in the place of one.
        """
        if assign.truth is not None or assign.scaled:
            return True
        return assign.target in self.graph.optimizers or "opt" in assign.target.rpartition(".")[2].lower()
