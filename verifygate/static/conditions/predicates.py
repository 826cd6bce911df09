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
    among: OneOf | None = None
    """The constants that it compares with."""
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
