"""What is known at one point of a walk: of each optimizer, the open regions, the scaled losses, and what is decided."""

from __future__ import annotations

from dataclasses import replace

from verifygate.record import record
from verifygate.static.graph import Atom, Fact
from verifygate.static.tracks import Track


@record
class Span:
    """From entering the outermost open region to leaving it: torch drops its casts of the weights only there."""

    entered: int
    caches: bool = False
    """A region in which casts of weights are kept has been entered since."""
    stepped: frozenset[tuple[str, bool]] = frozenset()
    """Optimizers that stepped inside, and whether a backward came after."""


@record
class State:
    tracks: tuple[tuple[str, Track], ...] = ()
    regions: tuple[bool, ...] = ()
    span: Span | None = None
    scaled: frozenset[str] = frozenset()
    facts: frozenset[tuple[Atom, bool]] = frozenset()


def decided(state: State, fact: Fact | None, matters: frozenset[Atom]) -> State | None:
    """The state with a condition decided; None where this path has decided it the other way.

    Of all that is decided it keeps what still matters.
    """
    facts = state.facts
    if fact is not None and not fact[0].opaque:
        atom, truth = fact
        if (atom, not truth) in facts:
            return None
        if atom in matters:
            facts = facts | {fact}
    facts = frozenset(each for each in facts if each[0] in matters)
    return state if facts == state.facts else replace(state, facts=facts)
