"""What led a walk to a state: the steps back to the beginning, and the conditions decided on them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from verifygate.static.conditions.predicates import Atom, Fact
from verifygate.static.lowering.event_graph import Graph
from verifygate.static.paths.states import State

Step = tuple[int, State]
"""A node, and a state in which a walk came to it."""


class Past:
    """Tells of any state that was met how it was met first."""

    def __init__(self, graph: Graph, parents: dict[Step, Step | None]) -> None:
        self.volatile = graph.assigned_in_loops()
        self._parents = parents
        self._decided = _decided(graph)
        self._settings: dict[Step, frozenset[Fact]] = {}

    def steps(self, node: int, state: State) -> list[Step]:
        """The way to a state, from the beginning."""
        here: Step | None = (node, state)
        steps = []
        while here is not None:
            steps.append(here)
            here = self._parents[here]
        return steps[::-1]

    def decisions(self, node: int, state: State) -> Iterator[Fact]:
        """Every condition decided on the way to a state."""
        for (number, _), (successor, _) in pairwise(self.steps(node, state)):
            if fact := self._decided.get((number, successor)):
                yield fact

    def settings(self, node: int, state: State) -> frozenset[Fact]:
        """What the way to a state decided about conditions that never change while it runs."""
        ahead: list[Step] = []
        here: Step | None = (node, state)
        while here is not None and here not in self._settings:
            ahead.append(here)
            here = self._parents[here]
        settled: frozenset[Fact] = self._settings[here] if here is not None else frozenset()
        for step in reversed(ahead):
            fact = self._decided.get((here[0], step[0])) if here is not None else None
            if fact is not None and not self._changes(fact[0]):
                settled |= {fact}
            self._settings[step] = settled
            here = step
        return settled

    def _changes(self, atom: Atom) -> bool:
        return atom.opaque or bool(atom.mentions & self.volatile)


def _decided(graph: Graph) -> dict[tuple[int, int], Fact]:
    """Two nodes -> what going from the one to the other decides, where there is one way only and it decides a thing."""
    found: dict[tuple[int, int], list[Fact | None]] = {}
    for number, node in enumerate(graph.nodes):
        for successor, fact in node.successors:
            found.setdefault((number, successor), []).append(fact)
    return {edge: facts[0] for edge, facts in found.items() if len(facts) == 1 and facts[0] is not None}
