"""Abstract state at one point of a path: optimizers' typestates, open regions, scaled losses, decided conditions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from verifygate.static.conditions.predicates import Fact, Predicate
from verifygate.static.paths.typestate import Typestates
from verifygate.static.values.access_paths import AccessPath


class RegionSpan(NamedTuple):
    """From entering the outermost open region to leaving it: torch drops its casts of the weights only there."""

    entered: int
    caches: bool = False
    """A region in which casts of weights are kept has been entered since."""
    stepped: frozenset[tuple[AccessPath, bool]] = frozenset()
    """Optimizers that stepped inside, and whether a backward came after."""


class State(NamedTuple):
    optimizers: Typestates = ()
    regions: tuple[bool, ...] = ()
    span: RegionSpan | None = None
    scaled: frozenset[AccessPath] = frozenset()
    """The variables that hold a scaled loss."""
    facts: frozenset[Fact] = frozenset()


PathNode = tuple[int, State]
"""A node of the exploded graph: a node of the event graph, and a state in which a path arrives there."""


def decided(
    state: State, fact: Fact | None, live: frozenset[Predicate], implied: Mapping[Fact, frozenset[Fact]]
) -> State | None:
    """The state with a condition decided; None where this path has decided it the other way.

    Of all that is decided, and of what that implies, it keeps what is still live.
    """
    facts = state.facts
    if fact is not None and not fact[0].opaque:
        atom, truth = fact
        if facts and (atom, not truth) in facts:
            return None
        if more := implied.get(fact):
            if facts and any((also, not holds) in facts for also, holds in more):
                return None
            facts = facts | more
        if atom in live:
            facts = facts | {fact}
    if facts:
        facts = _kept(facts, live)
    return state if facts == state.facts else state._replace(facts=facts)


@lru_cache(maxsize=4096)
def _kept(facts: frozenset[Fact], live: frozenset[Predicate]) -> frozenset[Fact]:
    """The facts that are still live: the same few conditions, looked up at every step of an exploration."""
    return frozenset(fact for fact in facts if fact[0] in live)
