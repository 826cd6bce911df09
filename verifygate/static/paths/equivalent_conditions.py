"""Conditions that are taken for one: `callback.state.step % n == 0`, and `runner.state.step % n == 0`.

Two conditions that read alike may be about one object that is reached through two owners. A path on which they come
out differently, with nothing assigned in between that they read, may be one that no run takes, and is left out.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from verifygate.static.conditions.predicates import Predicate
from verifygate.static.lowering.event_graph import Branch, Graph

_NEGATIONS = {"!=": "==", "is not": "is", "not in": "in"}


def taken_for_one(graph: Graph) -> Mapping[Predicate, frozenset[Predicate]]:
    """Condition -> the others that it may be one with, worked out once for a graph: each error path in it asks."""
    if graph.taken_for_one is None:
        graph.taken_for_one = _found(graph)
    return graph.taken_for_one


def _found(graph: Graph) -> dict[Predicate, frozenset[Predicate]]:
    alike: dict[str, dict[Predicate, None]] = {}
    for node in graph.nodes:
        if isinstance(node.payload, Branch) and not node.payload.atom.opaque and node.payload.atom.mentions:
            alike.setdefault(_without_owners(node.place.node), {})[node.payload.atom] = None
    found = {}
    for atoms in alike.values():
        for atom in atoms if len(atoms) > 1 else ():
            if same := frozenset(other for other in atoms if other != atom and _may_be_one(atom, other)):
                found[atom] = same
    return found


def _may_be_one(one: Predicate, other: Predicate) -> bool:
    """Whether two conditions that read alike may be about one object."""
    return any(mine.may_be(its) for mine in one.mentions for its in other.mentions)


def _without_owners(test: ast.AST) -> str:
    """A condition as it is written, without the owners of the attributes in it, and asked in the affirmative."""
    text = re.sub(r"\b[\w.]+\.(?=[^\W\d]\w*)", ".", ast.unparse(test))
    return re.sub(r"!=|\bis not\b|\bnot in\b", lambda found: _NEGATIONS[found[0]], text)
