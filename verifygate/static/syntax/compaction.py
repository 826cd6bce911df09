"""Compact syntax trees to half their size before anything keeps them: they are most of an analysis' memory.

Each node comes with a dict of its own, with room for ten names where most have six or seven. Nodes of one kind have the
same names, so they can share them, as the instances of an ordinary class do; and what is on one line can share the
number of it. A node stays what it was: whoever reads it sees no difference.
"""

from __future__ import annotations

import ast
from typing import Any

from verifygate.static.syntax.traversal import FIELDS

_INSTANCES = 30
"""Of so many, CPython has learned how many names an instance of a class has, and leaves room for no more."""

_Alike = tuple[dict[str, Any], tuple[str, ...], bool]
_ALIKE: dict[type[ast.AST], _Alike] = {}
"""Kind of node -> a dict that has its names and shares them with its copies, FIELDS, and whether it has a place."""
_NONE: list[Any] = []
"""What stands for every empty list: nobody changes the lists of a tree."""
_NUMBERS: dict[int, int] = {}
"""Number of a line -> the same number, one object for all nodes there."""


def slim(tree: ast.AST, levels: int) -> bool:
    """Make every node of a tree small; whether some lie so many levels below the root, or more, which stay large."""
    number = _NUMBERS.setdefault
    level = [tree]
    for _ in range(levels):
        below: list[Any] = []
        for node in level:
            kind = node.__class__
            names, fields, has_place = _ALIKE.get(kind) or _alike(kind)
            held = node.__dict__ = names | node.__dict__
            for name in fields:
                value = held[name]
                if value.__class__ is list:
                    if value:
                        below += value
                    else:
                        held[name] = _NONE
                elif value is not None:
                    below.append(value)
            if has_place:
                first, last = held["lineno"], held["end_lineno"]
                held["lineno"] = line = number(first, first)
                held["end_lineno"] = line if last == first else number(last, last)
        level = [node for node in below if node is not None]
        if not level:
            return False
    return True


def _alike(kind: type[ast.AST]) -> _Alike:
    class Alike:
        """The class whose instances have the names of one kind of nodes."""

    one = Alike()
    for _ in range(_INSTANCES):
        one = Alike()
        for name in (*kind._fields, *kind._attributes):
            setattr(one, name, None)
    found = _ALIKE[kind] = (vars(one), FIELDS[kind], "end_lineno" in kind._attributes)
    return found
