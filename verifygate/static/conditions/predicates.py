"""Branch predicates in canonical form, and the facts that a path decides about them."""

from __future__ import annotations

import ast
from typing import NamedTuple

from verifygate.static.values.access_paths import AccessPath


class Remainder(NamedTuple):
    """A window of N iterations, known by a remainder: `i % N == 0` opens it, `(i + 1) % N == 0` closes it."""

    text: str
    counter: AccessPath
    """What counts the iterations."""
    closes: bool
    """It asks for the last iteration of the window, and not for the first."""


class OneOf(NamedTuple):
    """What a condition asks that compares with constants: whether a value is one of these."""

    asked: AccessPath
    """The value."""
    constants: frozenset[str]


class AtLeast(NamedTuple):
    """What a condition asks that compares with a number: whether a value reaches it."""

    asked: AccessPath
    """The value."""
    bound: tuple[float, bool]
    """The number, and whether the value has to be above it: they are in order as these pairs are."""


class Predicate(NamedTuple):
    """A condition that is not taken apart further, in canonical form: equal atoms hold or fail together."""

    text: str
    mentions: frozenset[AccessPath] = frozenset()
    """What it reads: assigning to one of them ends what is known about it."""
    opaque: bool = False
    """It may differ each time it is asked (a call, a changing value): never remembered."""
    loop: ast.For | ast.AsyncFor | None = None
    """The loop of whose first or last iteration it is the predicate."""
    remainder: Remainder | None = None
    """The remainder that it asks about."""
    among: OneOf | AtLeast | None = None
    """The values for which it holds, where it compares with constants."""
    site: tuple[int, int] | None = None
    """Line and column of an opaque one: tells apart two that read alike."""

    @property
    def variable(self) -> AccessPath | None:
        """The variable that it tests, where it tests nothing else: `use_amp`, `not self.amp`."""
        read = next(iter(self.mentions)) if len(self.mentions) == 1 else None
        return read if str(read) == self.text else None

    def may_change_with(self, target: AccessPath) -> bool:
        """Whether assigning to `target` may change how it comes out."""
        return any(path.is_below(target) or path.may_be(target) for path in self.mentions)

    @property
    def key(self) -> str:
        """The text, with the location of an opaque one: what it is counted by."""
        return f"{self.text} @{self.site[0]}:{self.site[1]}" if self.site else self.text

    @property
    def choice(self) -> str:
        """What it counts as: questions about one remainder are one choice."""
        return self.remainder.text if self.remainder else self.key


Fact = tuple[Predicate, bool]


def outcome(other: Predicate, fact: Fact) -> bool | None:
    """How a condition comes out where `fact` is known, and nothing has been assigned in between; None: either way.

    A value that is 0 is not 1, and not above 3; one that is not above 3 is not 5.
    """
    atom, holds = fact
    if atom.key == other.key:
        return holds
    one, two = atom.among, other.among
    if one is None or two is None or one.asked != two.asked:
        return None
    if isinstance(one, OneOf) and isinstance(two, OneOf):
        if holds:
            return (
                False if one.constants.isdisjoint(two.constants) else True if one.constants <= two.constants else None
            )
        return False if two.constants <= one.constants else None
    if isinstance(one, AtLeast) and isinstance(two, AtLeast):
        if holds:
            return True if two.bound <= one.bound else None
        return False if two.bound >= one.bound else None
    if isinstance(one, OneOf) and isinstance(two, AtLeast):
        reached = _reach(one, two)
        return reached.pop() if holds and len(reached) == 1 else None
    if isinstance(one, AtLeast) and isinstance(two, OneOf):
        return None if holds in _reach(two, one) else False
    return None


def _reach(one: OneOf, least: AtLeast) -> set[bool]:
    """Of the constants, whether they reach a number; either way for what is no number."""
    numbers = {each.lstrip("-").isdigit() and (int(each), False) for each in one.constants}
    return {True, False} if False in numbers else {each >= least.bound for each in numbers if each}
