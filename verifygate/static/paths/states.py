"""What is known at one point of a walk: of each optimizer, the open regions, the scaled losses, and what is decided."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from verifygate.static.conditions.predicates import Atom, Fact
from verifygate.static.paths.optimizer_state import Track


class Span(NamedTuple):
    """From entering the outermost open region to leaving it: torch drops its casts of the weights only there."""

    entered: int
    caches: bool = False
    """A region in which casts of weights are kept has been entered since."""
    stepped: frozenset[tuple[str, bool]] = frozenset()
    """Optimizers that stepped inside, and whether a backward came after."""


class State(NamedTuple):
    tracks: tuple[tuple[str, Track], ...] = ()
    regions: tuple[bool, ...] = ()
    span: Span | None = None
    scaled: frozenset[str] = frozenset()
    facts: frozenset[Fact] = frozenset()


def decided(
    state: State, fact: Fact | None, matters: frozenset[Atom], implied: Mapping[Fact, frozenset[Fact]]
) -> State | None:
    """The state with a condition decided; None where this path has decided it the other way.

    Of all that is decided, and of what that implies, it keeps what still matters.
    """
    facts = state.facts
    if fact is not None and not fact[0].opaque:
        atom, truth = fact
        if facts and (atom, not truth) in facts:
            return None
        if atom in matters:
            facts = facts | {fact}
        if more := implied.get(fact):
            facts = facts | more
    if facts:
        facts = _kept(facts, matters)
    return state if facts == state.facts else state._replace(facts=facts)


@lru_cache(maxsize=4096)
def _kept(facts: frozenset[Fact], matters: frozenset[Atom]) -> frozenset[Fact]:
    """The facts that still matter: the same few questions, asked at every step of a walk."""
    return frozenset(fact for fact in facts if fact[0] in matters)
