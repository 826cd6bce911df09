"""Branch predicates in canonical form, and the facts that a path decides about them."""

from __future__ import annotations

import ast
from typing import NamedTuple


class Remainder(NamedTuple):
    """A window of N turns, known by a remainder: `i % N == 0` opens it, `(i + 1) % N == 0` closes it."""

    text: str
    counter: str
    """Canonical path of what counts the turns."""
    closes: bool
    """It asks for the last turn of the window, and not for the first."""


class Among(NamedTuple):
    """What a condition asks that compares with constants: whether a value is one of these."""

    asked: str
    """Canonical path of the value."""
    constants: frozenset[str]


class Atom(NamedTuple):
    """A condition that is not taken apart further, in canonical form: equal atoms hold or fail together."""

    text: str
    mentions: frozenset[str] = frozenset()
    """Canonical paths that it reads: assigning to one of them ends what is known about it."""
    opaque: bool = False
    """It may differ each time it is asked (a call, a changing value): never remembered."""
    loop: ast.For | ast.AsyncFor | None = None
    """The loop of whose first or last iteration it is the predicate."""
    remainder: Remainder | None = None
    """The remainder that it asks about."""
    among: Among | None = None
    """The constants that it compares with."""

    @property
    def asks(self) -> str:
        """What it asks, without the place that tells opaque ones apart."""
        return self.text.partition(" @")[0]

    @property
    def choice(self) -> str:
        """What it counts as: questions about one remainder are one choice."""
        return self.remainder.text if self.remainder else self.text


Fact = tuple[Atom, bool]


def is_below(path: str, target: str) -> bool:
    """Whether assigning to `target` changes what `path` means."""
    return path == target or path.startswith((f"{target}.", f"{target}["))
