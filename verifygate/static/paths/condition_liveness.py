"""Liveness of branch conditions: at each node of a graph, those that a branch ahead tests again.

An exploration that forgets the others meets far fewer states, and loses nothing: what no branch tests decides nothing.
"""

from __future__ import annotations

from collections import deque

from verifygate.static.conditions.predicates import Fact, Predicate, outcome
from verifygate.static.lowering.event_graph import Assign, Branch, Graph, Node
from verifygate.static.paths.equivalent_conditions import taken_for_one
from verifygate.static.values.access_paths import AccessPath


def killed(graph: Graph) -> list[frozenset[Predicate]]:
    """Kill sets: for each node, the conditions that read what it assigns, or what may be the same by another name."""
    atoms = {node.payload.atom for node in graph.nodes if isinstance(node.payload, Branch)}
    readers: dict[AccessPath, frozenset[Predicate]] = {}

    def reading(target: AccessPath) -> frozenset[Predicate]:
        if target not in readers:
            readers[target] = frozenset(atom for atom in atoms if atom.may_change_with(target))
        return readers[target]

    nothing: frozenset[Predicate] = frozenset()
    return [reading(node.payload.target) if isinstance(node.payload, Assign) else nothing for node in graph.nodes]


def next_iterations(graph: Graph) -> dict[Predicate, Predicate]:
    """The test for the last iteration of a window -> the test for the first: the same result, one iteration later."""
    asked = {
        (remainder.text, remainder.closes): node.payload.atom
        for node in graph.nodes
        if isinstance(node.payload, Branch) and (remainder := node.payload.atom.remainder)
    }
    return {atom: asked[text, False] for (text, closes), atom in asked.items() if closes and (text, False) in asked}


def implied(graph: Graph) -> dict[Fact, frozenset[Fact]]:
    """What the outcome of a condition implies for others.

    What a value is compared with decides how it compares with others (`outcome`); and conditions that are taken for one
    come out the same.
    """
    atoms = {node.payload.atom for node in graph.nodes if isinstance(node.payload, Branch)}
    by_asked: dict[AccessPath, list[Predicate]] = {}
    for atom in atoms:
        if atom.among:
            by_asked.setdefault(atom.among.asked, []).append(atom)
    found: dict[Fact, frozenset[Fact]] = {}
    for alike in by_asked.values():
        for fact in ((atom, truth) for atom in alike for truth in (True, False)):
            came = ((other, outcome(other, fact)) for other in alike if other is not fact[0])
            if more := frozenset((other, holds) for other, holds in came if holds is not None):
                found[fact] = more
    for atom, same in taken_for_one(graph).items():
        for truth in (True, False):
            found[atom, truth] = found.get((atom, truth), frozenset()) | {(other, truth) for other in same}
    return found


def counts(node: Node, tested: Predicate) -> bool:
    """Whether a node sets the counter that a test of a remainder reads to its next value."""
    assign = node.payload
    if not isinstance(assign, Assign) or not assign.advances or tested.remainder is None:
        return False
    return tested.remainder.counter.is_below(assign.target)


def live(graph: Graph, kills: list[frozenset[Predicate]]) -> list[frozenset[Predicate]]:
    """For each node, the conditions that a branch at or after it tests before anything kills them."""
    following = next_iterations(graph)
    before: list[list[int]] = [[] for _ in graph.nodes]
    for number, node in enumerate(graph.nodes):
        for successor, _ in node.successors:
            before[successor].append(number)
    found: list[frozenset[Predicate]] = [frozenset()] * len(graph.nodes)
    queue = deque(range(len(graph.nodes) - 1, -1, -1))
    waiting = set(queue)
    while queue:
        number = queue.popleft()
        waiting.discard(number)
        node = graph.nodes[number]
        after = frozenset().union(*(found[successor] for successor, _ in node.successors))
        own = {node.payload.atom} if isinstance(node.payload, Branch) and not node.payload.atom.opaque else set()
        earlier_iteration = {last for last, first in following.items() if first in after and counts(node, last)}
        now = (after - kills[number]) | own | earlier_iteration
        if now != found[number]:
            found[number] = now
            for earlier in before[number]:
                if earlier not in waiting:
                    waiting.add(earlier)
                    queue.append(earlier)
    return found
