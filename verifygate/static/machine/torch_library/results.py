"""How the dtype of a result comes about, and what an autocast region does to what an operator is given."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from verifygate.static.machine.torch_library.dtypes import (
    FLOATS,
    HALVES,
    INTEGERS,
    Kind,
    promoted,
    to_complex,
    to_floating,
    to_real,
)


class Autocast(StrEnum):
    """What a region of a device type does to the tensors that an operator is given."""

    KEEP = "keep"
    LOWER = "lower"
    """Casts them to the region's dtype."""
    FLOAT32 = "float32"
    PROMOTE = "promote"
    """Casts them to float32 where one of them is float32, else to the region's dtype."""
    BANNED = "banned"
    """Raises for half tensors."""
    UNKNOWN = "unknown"
    """Not one of these for every call: it depends on more than dtypes."""


class Result(StrEnum):
    """What the dtype of a result is, by those of the operands."""

    PROMOTED = "promoted"
    FLOATING = "floating"
    """Promoted, and the default dtype for integers: `torch.sin`, a division."""
    SUMMED = "summed"
    """Promoted, and int64 for integers: `torch.sum`."""
    SQUARED = "squared"
    """Promoted, and int64 for bool: `torch.square`."""
    REAL = "real"
    """Promoted, and that of the parts for a complex one: `torch.abs`."""
    FLOATING_REAL = "floating_real"
    COMPLEX = "complex"
    """That of which the parts have the promoted dtype: `torch.fft.fft`."""
    WIDENED = "widened"
    """Promoted, and float32 for halves."""


RULES = frozenset(Result)


def under(policy: Autocast, lower: str | None, operands: Sequence[tuple[str, Kind]]) -> list[tuple[str, Kind]]:
    """The operands as the operator sees them in a region of dtype `lower`; None stands for outside of one.

    Tensors of float64, integers and numbers of Python are never cast.
    """
    if lower is None or policy in (Autocast.KEEP, Autocast.BANNED):
        return list(operands)
    wide = policy is Autocast.FLOAT32 or (policy is Autocast.PROMOTE and ("float32", Kind.TENSOR) in operands)
    wide = wide or (policy is Autocast.PROMOTE and ("float32", Kind.ZERO_DIM) in operands)
    target = "float32" if wide else lower
    return [(target if _is_cast(dtype, kind) else dtype, kind) for dtype, kind in operands]


def _is_cast(dtype: str, kind: Kind) -> bool:
    return kind is not Kind.NUMBER and dtype in FLOATS and dtype != "float64"


def result_of(rule: str, operands: Sequence[tuple[str, Kind]], default: str = "float32") -> str | None:
    """The dtype of a result; None where torch refuses the operands. A rule that names a dtype is that dtype."""
    if rule not in RULES:
        return rule
    found = promoted(operands, default)
    if found is None or rule == Result.PROMOTED:
        return found
    if rule == Result.SUMMED:
        return "int64" if found in INTEGERS or found == "bool" else found
    if rule == Result.SQUARED:
        return "int64" if found == "bool" else found
    if rule == Result.WIDENED:
        return "float32" if found in HALVES else found
    if rule == Result.REAL:
        return to_real(found)
    floating = to_floating(found, default)
    if rule == Result.COMPLEX:
        return to_complex(floating)
    return to_real(floating) if rule == Result.FLOATING_REAL else floating
