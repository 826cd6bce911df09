"""Coarser explorations of a graph with too many states: what its paths may forget, in the order of how little it costs.

A coarser exploration has all feasible paths, and some that no run takes: what every path violates is certain in it as
well, and what some path violates is reported only if that path, followed once more with nothing forgotten, does so too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import IntEnum
from functools import cached_property

from verifygate.base.records import replace
from verifygate.protocol import Event
from verifygate.static.conditions.predicates import Predicate
from verifygate.static.lowering.event_graph import (
    Assign,
    Backward,
    Branch,
    Escape,
    ForeignBackward,
    Graph,
    Pass,
    Signal,
)
from verifygate.static.paths.graph_facts import GraphFacts
from verifygate.static.paths.reachability import Nodes, reachable
from verifygate.static.values.access_paths import AccessPath

_BACKWARDS = Backward | ForeignBackward
_USES = frozenset({Event.UNSCALE, Event.SCALER_STEP, Event.OPTIMIZER_STEP, Event.CHECKED_STEP, Event.UPDATE})


class Coarseness(IntEnum):
    """What the paths of an exploration forget; each forgets what those before it do."""

    EXACT = 0
    REPEATS = 1
    """The outcomes of conditions under which there is nothing but one more backward."""
    ONCE = 2
    """Those of all conditions that one branch alone tests: in another iteration they may come out otherwise."""
    APART = 3
    """And each optimizer is explored by itself."""
    JOINED = 4
    """Those of all conditions; and of the events that may be blamed, all but those met first."""


class Coarsening:
    """The facts of a graph as its coarser explorations read them."""

    def __init__(self, facts: GraphFacts) -> None:
        self.facts = facts
        self._found_sides: dict[int, list[Nodes]] = {}

    def facts_at(self, coarseness: Coarseness, group: frozenset[AccessPath]) -> GraphFacts:
        """The facts, with the conditions left out of the live ones that are forgotten; `group`: whom it is about."""
        forgotten = self._forgotten(coarseness)
        if coarseness is Coarseness.APART:
            forgotten |= self._of_others(group)
        if not forgotten:
            return self.facts
        return replace(self.facts, live=[each - forgotten for each in self.facts.live])

    def _forgotten(self, coarseness: Coarseness) -> frozenset[Predicate]:
        if coarseness is Coarseness.EXACT:
            return frozenset()
        if coarseness is Coarseness.JOINED:
            return frozenset(atom for atom, _ in self._branches)
        return frozenset(
            atom
            for atom, number in self._tested_once
            if (self._only_repeats(number) if coarseness is Coarseness.REPEATS else not self._chooses(number))
        )

    @cached_property
    def _branches(self) -> list[tuple[Predicate, int]]:
        nodes = enumerate(self.facts.graph.nodes)
        return [(node.payload.atom, number) for number, node in nodes if isinstance(node.payload, Branch)]

    @cached_property
    def _tested_once(self) -> list[tuple[Predicate, int]]:
        """The conditions that one branch tests, and no assignment or other condition decides, each with that branch."""
        tested = Counter(atom for atom, _ in self._branches)
        payloads = (node.payload for node in self.facts.graph.nodes)
        flags = {each.target for each in payloads if isinstance(each, Assign) and each.truth is not None}
        related = {atom for atom, _ in self.facts.implied} | {*self.facts.next_iterations}
        return [
            (atom, number)
            for atom, number in self._branches
            if tested[atom] == 1 and atom not in related and flags.isdisjoint(atom.mentions)
        ]

    def _of_others(self, group: frozenset[AccessPath]) -> frozenset[Predicate]:
        """The conditions under which nothing happens but to optimizers outside of a group."""
        about: dict[Predicate, bool] = {}
        for atom, number in self._branches:
            if not about.get(atom):
                about[atom] = any(self._concerns(at, group) for side in self._sides(number) for at in side)
        return frozenset(atom for atom, is_about in about.items() if not is_about)

    def _concerns(self, number: int, group: frozenset[AccessPath]) -> bool:
        payload = self.facts.graph.nodes[number].payload
        if isinstance(payload, Signal) and payload.event is not Event.UPDATE:
            shared = self.facts.relations.shared[payload.optimizer] if payload.optimizer is not None else ()
            return not group.isdisjoint({*self.facts.targets(number, payload)[0], *shared})
        return not isinstance(payload, Branch | Pass)

    @cached_property
    def scaled_ahead(self) -> list[frozenset[AccessPath]]:
        """For each node, the variables whose scaled loss a backward at or after it may be called on."""
        nodes = self.facts.graph.nodes
        before: list[list[int]] = [[] for _ in nodes]
        for number, node in enumerate(nodes):
            for successor, _ in node.successors:
                before[successor].append(number)
        found: list[frozenset[AccessPath]] = [frozenset()] * len(nodes)
        queue = list(range(len(nodes)))
        while queue:
            number = queue.pop()
            after = frozenset[AccessPath]().union(*(found[each] for each, _ in nodes[number].successors))
            match nodes[number].payload:
                case Backward(roots=roots):
                    after |= roots
                case Assign(target=target, sources=sources, augments=augments) if target in after:
                    after = (after if augments else after - {target}) | sources.paths
            if after != found[number]:
                found[number] = after
                queue += before[number]
        return found

    def _only_repeats(self, number: int) -> bool:
        """Whether a branch has backwards on one side alone, and no other event on either."""
        sides = self._payloads(number)
        kinds = [any(isinstance(each, _BACKWARDS) for each in side) for side in sides]
        return sum(kinds) <= 1 and not any(isinstance(each, Signal | Escape) for side in sides for each in side)

    def _chooses(self, number: int) -> bool:
        """Whether both sides of a branch have a backward, or both a use of gradients: a switch of how to train."""
        sides = self._payloads(number)
        return all(any(isinstance(each, _BACKWARDS) for each in side) for side in sides) or all(
            any(isinstance(each, Signal) and each.event in _USES for each in side) for side in sides
        )

    def _payloads(self, number: int) -> list[list[object]]:
        nodes = self.facts.graph.nodes
        return [[nodes[each].payload for each in side] for side in self._sides(number)]

    def _sides(self, number: int) -> list[Nodes]:
        """The nodes that one side of a branch leads to, and the other does not before the branch is met again."""
        if number not in self._found_sides:
            graph = self.facts.graph
            reached = [
                reachable(graph, [each], ends=lambda at: at == number)
                for each in dict.fromkeys(each for each, _ in graph.nodes[number].successors)
            ]
            self._found_sides[number] = [
                own.difference(*reached[:at], *reached[at + 1 :]) for at, own in enumerate(reached)
            ]
        return self._found_sides[number]


def groups_at(coarseness: Coarseness, graph: Graph) -> Sequence[frozenset[AccessPath]]:
    """The optimizers that one exploration follows together, for each that there is to be."""
    if coarseness < Coarseness.APART or len(graph.optimizers) < 2:
        return [frozenset(graph.optimizers)]
    return [frozenset({each}) for each in sorted(graph.optimizers, key=str)]
