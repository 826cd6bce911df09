"""Build an event graph: emit nodes, connect the edges that are pending, join the paths of a branch, collapse subgraphs.

An edge is pending until the next node is emitted: that one becomes its target. No pending edge means that nothing
leads here.

    holds, fails = builder.branch(atom, True, node, frame)
    with builder.join() as join:
        with join.path(holds):
            builder.emit(step, node, frame)
        with join.path(fails):
            pass
    # pending: the step, and the branch where it comes out false
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from verifygate.static.conditions.predicates import Fact, Predicate
from verifygate.static.lowering.event_graph import Assign, Branch, Graph, Iterate, Node, Pass, Payload
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.values.access_paths import AccessPath
from verifygate.static.values.domain import Frame

MAX_NODES = 6000
MAX_EMITTED = 3 * MAX_NODES
"""The same, with those that were collapsed again: of a program that is no mere knot of calls, one in four is."""

Edges = list[tuple[int, Fact | None]]
"""Edges without a target yet: the node that each leaves, and the outcome of the branch there."""


class TooLargeError(Exception):
    """The graph grew past its limit: the caller falls back to smaller entry points."""


class GraphBuilder:
    """The event graph of one entry point while it grows."""

    def __init__(self, root: Function) -> None:
        self.graph = Graph(root)
        self.pending: Edges = []
        self.loops: list[int] = []
        """Numbers of the loops around the present statement, outermost first."""
        self.collections: list[AccessPath] = []
        """The collections of optimizers that those loops iterate over."""
        self.jumps = 0
        """How many statements so far leave the straight path: `return`, `raise`, `break`, `continue`."""
        self.emitted = 0
        """How many nodes were emitted, with those that were collapsed again."""
        self._loop_count = 0
        self._chains: dict[Frame, tuple[frozenset[str], tuple[Location, ...]]] = {}

    def emit(self, payload: Payload, node: ast.AST, frame: Frame) -> int:
        """Append a node and make it the target of all pending edges; one edge out of it is pending then."""
        number = len(self.graph.nodes)
        self.emitted += 1
        if number >= MAX_NODES or self.emitted > MAX_EMITTED:
            raise TooLargeError
        homes, calls = self._call_chain(frame)
        place = Location(frame.function, node)
        self.graph.nodes.append(Node(payload, place, homes, [], tuple(self.loops), tuple(self.collections), calls))
        self.connect(self.pending, number)
        self.pending = [(number, None)]
        return number

    def emit_entry(self) -> None:
        """Append node 0, at which every path starts."""
        root = self.graph.root
        self.graph.nodes.append(Node(Pass(), Location(root, root.node), frozenset()))
        self.pending = [(0, None)]

    def connect(self, edges: Edges, target: int) -> None:
        """Add edges whose target is known."""
        for source, fact in edges:
            self.graph.nodes[source].successors.append((target, fact))

    def branch(self, atom: Predicate, wanted: bool, node: ast.AST, frame: Frame) -> tuple[Edges, Edges]:
        """Emit a branch on a predicate; returns the edges on which it comes out as wanted, and the others."""
        number = self.emit(Branch(atom), node, frame)
        self.pending = []
        return [(number, (atom, wanted))], [(number, (atom, not wanted))]

    @contextmanager
    def join(self) -> Iterator[Join]:
        """Build alternative paths, one after the other; afterwards the ends of all of them are pending."""
        joined = Join(self)
        yield joined
        self.pending = joined.ends

    def jump(self, target: Edges | None = None) -> None:
        """Leave the straight path: the pending edges go where `target` will lead, without one out of the graph."""
        if target is not None:
            target += self.pending
        self.pending = []
        self.jumps += 1

    @contextmanager
    def loop(self) -> Iterator[None]:
        """Number a loop: the nodes that are emitted inside stand in it."""
        self._loop_count += 1
        self.loops.append(self._loop_count)
        yield
        self.loops.pop()

    @contextmanager
    def collapsible(self) -> Iterator[None]:
        """Collapse a subgraph without events and jumps to the straight line of its assignments."""
        start, before, jumps = len(self.graph.nodes), list(self.pending), self.jumps
        yield
        added = self.graph.nodes[start:]
        if self.jumps != jumps or not self._may_collapse(added):
            return
        del self.graph.nodes[start:]
        for source, _ in before:
            successors = self.graph.nodes[source].successors
            successors[:] = [edge for edge in successors if edge[0] < start]
        self.pending = before
        for node in added:
            if isinstance(node.payload, Assign):
                number = len(self.graph.nodes)
                node.successors.clear()
                self.graph.nodes.append(node)
                self.connect(self.pending, number)
                self.pending = [(number, None)]

    def _may_collapse(self, nodes: Sequence[Node]) -> bool:
        return all(
            isinstance(node.payload, Branch | Iterate | Pass)
            or (isinstance(node.payload, Assign) and not self._is_path_sensitive(node.payload))
            for node in nodes
        )

    def _is_path_sensitive(self, assign: Assign) -> bool:
        """Whether it matters on which paths an assignment is made: it settles a condition, or scales a loss.

        Or it replaces an optimizer, or what goes by such a name.
        """
        if assign.truth is not None or assign.scaled:
            return True
        return assign.target in self.graph.optimizers or _suggests_an_optimizer(assign.target)

    def _call_chain(self, frame: Frame) -> tuple[frozenset[str], tuple[Location, ...]]:
        """The function of a frame and its callers, as a node names them; and the call sites between, in order."""
        if frame not in self._chains:
            own = frame.function.key
            homes, calls = self._call_chain(frame.caller) if frame.caller is not None else (frozenset[str](), ())
            if frame.caller is not None:
                calls = (*calls, Location(frame.caller.function, frame.call)) if frame.call is not None else ()
            self._chains[frame] = (homes | {own}, calls)
        return self._chains[frame]


class Join:
    """Alternative paths that meet again."""

    def __init__(self, builder: GraphBuilder) -> None:
        self.ends: Edges = []
        self._builder = builder

    @contextmanager
    def path(self, edges: Edges) -> Iterator[None]:
        """Build one path, which begins with these edges."""
        self._builder.pending = list(edges)
        yield
        self.ends += self._builder.pending


def _suggests_an_optimizer(path: AccessPath) -> bool:
    """By its last name, or by the function whose local variable it is: `group` of `step_optimizers`."""
    return "opt" in str(path).rpartition(".")[2].lower()
