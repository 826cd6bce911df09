"""Predecessor map of an exploration: the path to a state, and the branch decisions on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

from verifygate.static.conditions.predicates import Fact, Predicate
from verifygate.static.lowering.event_graph import Graph
from verifygate.static.paths.states import PathNode, State


class Predecessors:
    """How every state that was met was met first."""

    def __init__(self, graph: Graph, parents: Mapping[PathNode, PathNode | None]) -> None:
        self.volatile = graph.assigned_in_loops()
        self.parents = parents
        """Each node and state -> those from which it was met first."""
        self._decided = _decided(graph)
        self._invariant: dict[PathNode, frozenset[Fact]] = {}

    def path_to(self, node: int, state: State) -> list[PathNode]:
        """The path to a state, from the entry on."""
        here: PathNode | None = (node, state)
        path = []
        while here is not None:
            path.append(here)
            here = self.parents[here]
        return path[::-1]

    def decisions(self, node: int, state: State) -> Iterator[Fact]:
        """Every condition decided on the path to a state."""
        for (number, _), (successor, _) in pairwise(self.path_to(node, state)):
            if fact := self._decided.get((number, successor)):
                yield fact

    def invariant_decisions(self, node: int, state: State) -> frozenset[Fact]:
        """What the path to a state decided about conditions that never change while it runs."""
        ahead: list[PathNode] = []
        here: PathNode | None = (node, state)
        while here is not None and here not in self._invariant:
            ahead.append(here)
            here = self.parents[here]
        found: frozenset[Fact] = self._invariant[here] if here is not None else frozenset()
        for following in reversed(ahead):
            fact = self._decided.get((here[0], following[0])) if here is not None else None
            if fact is not None and not self._varies(fact[0]):
                found |= {fact}
            self._invariant[following] = found
            here = following
        return found

    def _varies(self, atom: Predicate) -> bool:
        return atom.opaque or bool(atom.mentions & self.volatile)


def _decided(graph: Graph) -> dict[tuple[int, int], Fact]:
    """Two nodes -> what the edge between them decides, where there is one edge only and it decides something."""
    found: dict[tuple[int, int], list[Fact | None]] = {}
    for number, node in enumerate(graph.nodes):
        for successor, fact in node.successors:
            found.setdefault((number, successor), []).append(fact)
    return {edge: facts[0] for edge, facts in found.items() if len(facts) == 1 and facts[0] is not None}
