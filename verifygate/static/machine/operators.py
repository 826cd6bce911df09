"""Operators on constants, within bounds: a source may ask for a number that fills the memory."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from verifygate.static.machine.values import Constant, Unknown, Value, constant

MOST = 10_000
"""No power, shift or repetition makes more digits, or more elements, than this."""
DUNDERS = {
    "Add": "add",
    "Sub": "sub",
    "Mult": "mul",
    "Div": "truediv",
    "FloorDiv": "floordiv",
    "Mod": "mod",
    "Pow": "pow",
    "MatMult": "matmul",
    "BitAnd": "and",
    "BitOr": "or",
    "BitXor": "xor",
    "LShift": "lshift",
    "RShift": "rshift",
}
"""Class of an operator -> the middle of the method that does it."""
COMPARING = {"Eq": "eq", "NotEq": "ne", "Lt": "lt", "LtE": "le", "Gt": "gt", "GtE": "ge"}
SIGNS = {
    "Add": "+",
    "Sub": "-",
    "Mult": "*",
    "Div": "/",
    "FloorDiv": "//",
    "Mod": "%",
    "Pow": "**",
    "BitAnd": "&",
    "BitOr": "|",
    "BitXor": "^",
}
_DO: dict[str, Callable[[object, object], object]] = {
    name: getattr(operator, f"{middle}_" if middle in ("and", "or") else middle) for name, middle in DUNDERS.items()
}


def computed(one: Constant, name: str, other: Constant) -> Value:
    """The result of an operator on two constants."""
    if not _is_small(one.value, name, other.value):
        return Unknown("a number or text that is too large")
    try:
        return constant(_DO[name](one.value, other.value))
    except (ArithmeticError, TypeError, ValueError, KeyError, IndexError):
        return Unknown("an operator that fails")


def _is_small(one: object, name: str, other: object) -> bool:
    if isinstance(one, str | bytes) or isinstance(other, str | bytes):
        texts = [each for each in (one, other) if isinstance(each, str | bytes)]
        if name == "Mod":
            return "*" not in str(one) and not any(part.isdigit() and int(part) > MOST for part in _numbers(str(one)))
        times = max((each for each in (one, other) if isinstance(each, int)), default=1)
        return sum(map(len, texts)) * max(times, 1) <= MOST
    if name in ("Pow", "LShift"):
        if not (isinstance(one, int | float) and isinstance(other, int | float)):
            return False
        return abs(other) <= 64 and abs(one) < 2**64
    return not (isinstance(one, int) and isinstance(other, int)) or max(one.bit_length(), other.bit_length()) < MOST


def _numbers(text: str) -> list[str]:
    return "".join(each if each.isdigit() else " " for each in text).split()


def signed(name: str, value: Constant) -> Value:
    """`-x`, `+x` or `~x` of a constant."""
    given: Any = value.value
    try:
        return constant(-given if name == "USub" else +given if name == "UAdd" else ~given)
    except TypeError:
        return Unknown("an operator that fails")
