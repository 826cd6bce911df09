"""Reachability in an event graph where some conditions are decided: which nodes a path can still come to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set

from verifygate.static.conditions.predicates import Fact
from verifygate.static.lowering.event_graph import Graph

Nodes = set[int]


def _never(_number: int) -> bool:
    return False


def reachable(
    graph: Graph, starts: Iterable[int], given: Set[Fact] = frozenset(), ends: Callable[[int], bool] = _never
) -> Nodes:
    """The nodes on paths from some nodes on that decide no condition against what is given.

    A path ends at a node for which `ends` holds; that node is still on it.
    """
    refused = {(atom, not truth) for atom, truth in given}
    seen = set(starts)
    ahead = list(seen)
    while ahead:
        number = ahead.pop()
        if ends(number):
            continue
        for successor, fact in graph.nodes[number].successors:
            if successor not in seen and fact not in refused:
                seen.add(successor)
                ahead.append(successor)
    return seen
