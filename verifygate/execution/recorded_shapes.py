"""The shape of the lines that the recorder writes: what any other hand wrote there is told from it, and left out.

Only what is worked with as a number, a list or a table has a shape here. A field that the recorder leaves out, or
writes as null, is not there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

Shape = Callable[[object], bool]
LARGEST = 2**53
"""Whole numbers beyond it are no counts."""


def _whole(value: object) -> bool:
    return isinstance(value, int) and abs(value) <= LARGEST


def _number(value: object) -> bool:
    return isinstance(value, float) or _whole(value)


def _each(shape: Shape) -> Shape:
    return lambda value: isinstance(value, list) and all(map(shape, value))


def _table(shape: Shape) -> Shape:
    return lambda value: isinstance(value, dict) and all(map(shape, value.values()))


def _text(value: object) -> bool:
    return isinstance(value, str)


def _pair(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_number, value))


def _four(value: object) -> bool:
    return isinstance(value, list) and len(value) == 4 and all(map(_number, value))


_EVENT: Mapping[str, Shape] = MappingProxyType(
    dict.fromkeys(("n", "step", "at", "optimizer", "scaler", "object", "tensors", "group", "handed"), _whole)
    | dict.fromkeys(("made", "ranks"), _whole)
    | dict.fromkeys(("steps", "reached", "unchanged", "movable", "lost", "gradless", "frozen"), _whole)
    | dict.fromkeys(("scale", "share", "factor", "value", "eps", "last", "grave"), _number)
    | dict.fromkeys(("optimizers", "shared", "inf", "uses"), _each(_whole))
    | dict.fromkeys(("devices", "holds", "elsewhere"), _each(_text))
    | dict.fromkeys(("device", "dtype", "root", "function", "type", "policy"), _text)
)
_NORM: Mapping[str, Mapping[str, Shape]] = {
    "clip": {"norm": _number, "limit": _number},
    "written": {"norm": _pair, "sizes": _each(_four), "added": _number, "multiple": _number},
}
_FACT: Mapping[str, Mapping[str, Shape]] = {
    "optimizer": {"id": _whole, "type": _text, "tensors": _whole, "dtypes": _table(_whole)},
    "scaler": {"id": _whole, "init_scale": _number, "device": _text, "type": _text},
    "rank": {"rank": _whole, "world": _whole},
    "totals": {"events": _whole, "steps": _whole},
    "sample": {
        "steps": _whole,
        "operations": _table(_number),
        "of_backward": _table(_number),
        "flops": _table(_number),
        "casts": _table(_number),
        "uncounted": lambda value: isinstance(value, dict),
        "islands": _each(_table(lambda _: True)),
    },
}
_NEEDED = {
    "optimizer": ("optimizer",),
    "updates": ("group", "dtype", "tensors", "steps", "reached", "unchanged"),
    "nonfinite": ("weights", "gradients"),
    "forward": ("handed",),
    "overflow": ("value",),
    "sharded": ("dtype",),
    "reduced": ("dtype", "ranks", "made"),
}
"""What an event of a kind always has. An event that is about one optimizer names it."""
_NEEDED_FACT = {"optimizer": ("id", "type", "tensors"), "scaler": ("id",)}


def is_event(row: dict[str, Any]) -> bool:
    """Whether the recorder can have written this event."""
    kind = str(row.get("e", ""))
    shapes = {**_EVENT, **_NORM.get(kind, {})}
    needed = _NEEDED.get(kind, ())
    if kind == "written" and row.get("norm") and row.get("sizes") is None:
        return False
    return _fits(row, shapes) and all(row.get(name) is not None for name in needed)


def is_fact(row: dict[str, Any]) -> bool:
    """Whether the recorder can have written this fact."""
    kind = str(row.get("kind", ""))
    needed = _NEEDED_FACT.get(kind, ())
    return _fits(row, _FACT.get(kind, {})) and all(row.get(name) is not None for name in needed)


def _fits(row: dict[str, Any], shapes: Mapping[str, Shape]) -> bool:
    return all(row.get(name) is None or shape(row[name]) for name, shape in shapes.items())
