"""Records: small frozen classes of named values, which cost little to define and little to make.

A dataclass that is frozen, compared and shown has six methods, each compiled anew while its module loads: for all the
records of the analysis that takes longer than to read and run their modules, and frozen ones are slow to make, too. So
here the dataclass makes only `__init__`, type checkers refuse what would change a record, and the rest is shared.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(eq_default=True, frozen_default=True, field_specifiers=(field,))
def record(cls: type[T]) -> type[T]:
    """Make a class one of records: with slots, and two of them equal where all values are; nothing is set again."""
    cls.__doc__ = cls.__doc__ or cls.__name__  # else the dataclass works one out, from the signature
    made = dataclass(eq=False, repr=False, slots=True)(cls)
    names = [each.name for each in fields(made) if each.compare]  # type: ignore[arg-type] # it is a dataclass by now
    values = attrgetter(*names) if names else type

    def equal(self: T, other: object) -> bool:
        return values(self) == values(other) if other.__class__ is made else NotImplemented

    def digest(self: T) -> int:
        return hash(values(self))

    def shown(self: T) -> str:
        return f"{made.__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    made.__eq__, made.__hash__, made.__repr__ = equal, digest, shown  # type: ignore[method-assign, assignment]
    return made
