"""Dtypes by name, without `torch.`: what they are called, and what comes of several of them.

`float16` with `float32` gives `float32`; a number, or a tensor without dimensions, counts only where it is of a higher
kind than the tensors (`torch.result_type`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from itertools import product

from verifygate.base.records import record

Dtypes = frozenset[str]

NAMES = {
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "cfloat": "complex64",
    "cdouble": "complex128",
    "chalf": "complex32",
}
"""Other names of a dtype in the module `torch`, and the methods of a tensor or module that cast to it."""

HALVES = frozenset({"float16", "bfloat16"})
FLOATS = HALVES | {"float32", "float64"}
COMPLEX = frozenset({"complex32", "complex64", "complex128"})
INTEGERS = frozenset({"uint8", "int8", "int16", "int32", "int64"})
FLOAT8 = frozenset({"float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"})
ALL = FLOATS | COMPLEX | INTEGERS | FLOAT8 | {"bool"}

_KINDS = ({"bool"}, INTEGERS, FLOATS | FLOAT8, COMPLEX)
_KIND = {name: number for number, names in enumerate(_KINDS) for name in names}
_REAL = {"complex32": "float16", "complex64": "float32", "complex128": "float64"}
_COMPLEX = {**{real: name for name, real in _REAL.items()}, "bfloat16": "complex64"}
_FLOAT_ORDER = ("float32", "float64")
_INTEGER_ORDER = ("int8", "int16", "int32", "int64")
LEGACY_TENSORS = {
    "HalfTensor": "float16",
    "BFloat16Tensor": "bfloat16",
    "FloatTensor": "float32",
    "DoubleTensor": "float64",
    "LongTensor": "int64",
    "IntTensor": "int32",
    "ShortTensor": "int16",
    "CharTensor": "int8",
    "ByteTensor": "uint8",
    "BoolTensor": "bool",
}
"""Tensor types of torch 0.x: `tensor.type(torch.HalfTensor)`, `torch.cuda.FloatTensor`."""


class Kind(StrEnum):
    """How an operand counts among others."""

    TENSOR = "tensor"
    """One with dimensions, or not known to have none."""
    ZERO_DIM = "zero_dim"
    NUMBER = "number"
    """A number of Python; its dtypes are `bool`, `int64`, `float64` and `complex128`."""


@record
class Operand:
    """What takes part in an operator: the dtypes that it may have, and how it counts."""

    dtypes: Dtypes
    kind: Kind = Kind.TENSOR


def dtype_named(name: str) -> str | None:
    """`torch.half` or `torch.float16` -> `float16`; None for what is no dtype."""
    last = name.rpartition(".")[2]
    if last in LEGACY_TENSORS:
        return LEGACY_TENSORS[last]
    if name not in (last, f"torch.{last}"):
        return None
    found = NAMES.get(last, last)
    return found if found in ALL else None


def to_real(dtype: str) -> str:
    """The dtype of the parts of a complex tensor, and of its absolute value."""
    return _REAL.get(dtype, dtype)


def to_complex(dtype: str) -> str:
    return _COMPLEX.get(dtype, dtype)


def to_floating(dtype: str, default: str = "float32") -> str:
    """What `torch.sin` makes of it: integers become the default dtype."""
    return default if _KIND[dtype] < 2 else dtype


def promoted(operands: Sequence[tuple[str, Kind]], default: str = "float32") -> str | None:
    """`torch.result_type`: tensors first, then tensors without dimensions, then numbers, each if of a higher kind.

    None for no operand, and for the pairs that torch refuses to promote.
    """
    result: str | None = None
    for kind in Kind:
        dtypes = [dtype for dtype, of in operands if of is kind]
        if not dtypes:
            continue
        found: str | None = dtypes[0]
        for dtype in dtypes[1:]:
            found = _wider(found, dtype) if found is not None else None
        if found is None:
            return None
        if kind is Kind.NUMBER:
            found = {"float64": default, "complex128": to_complex(default)}.get(found, found)
        if result is None:
            result = found
        elif _KIND[found] > _KIND[result]:
            if not FLOAT8.isdisjoint((found, result)) and (kind is not Kind.NUMBER or found in COMPLEX):
                return None
            result = _with_kind(result, found)
    return result


def _with_kind(result: str, found: str) -> str:
    """A half tensor and a complex number give half's complex dtype; any other higher kind decides alone."""
    if found in COMPLEX and result in FLOATS:
        return to_complex(result)
    return found


def _wider(one: str, other: str) -> str | None:
    if one == other:
        return one
    if one in FLOAT8 or other in FLOAT8:
        return None
    low, high = sorted((one, other), key=_KIND.__getitem__)
    if high in COMPLEX:
        return _wider_complex(low, high)
    if _KIND[low] < _KIND[high]:
        return high
    if high in FLOATS:
        return next((each for each in reversed(_FLOAT_ORDER) if each in (low, high)), "float32")
    if "uint8" in (low, high):
        signed = next(each for each in (low, high) if each != "uint8")
        return "int16" if signed == "int8" else signed
    return max(low, high, key=_INTEGER_ORDER.index)


def _wider_complex(low: str, high: str) -> str:
    if low in COMPLEX or low in FLOATS:
        parts = _wider(to_real(low), to_real(high))
        return to_complex(parts) if parts is not None else high
    return high


def each_combination(operands: Sequence[Operand], result: Callable[[Sequence[tuple[str, Kind]]], str | None]) -> Dtypes:
    """What comes of every choice of one dtype for each operand. Empty where an operand's dtype is not known."""
    choices = (tuple(each.dtypes) for each in operands)
    kinds = [each.kind for each in operands]
    found = (result(list(zip(dtypes, kinds, strict=True))) for dtypes in product(*choices))
    return frozenset(each for each in found if each is not None)


def promote(operands: Sequence[Operand], default: str = "float32") -> Dtypes:
    """What may come of operands of which each has one of several dtypes."""
    return each_combination(operands, lambda chosen: promoted(chosen, default))
