"""Compact syntax trees to half their size before anything keeps them: they are most of an analysis' memory.

Each node comes with a dict of its own, which takes twice as much as the node. A node with slots has its values in
itself. What is on one line can share the number of it, and what is not there needs no place: the class says that it is
None. A node stays what it was: whoever reads it, its `__class__` too, sees no difference. Only `type()` tells, and
copying or pickling one would lose what it holds.

Definitions and whole files keep a dict, which nodes of one kind share the names of, as the instances of an ordinary
class do: a deferred definition becomes what it stands for by taking that dict over.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Any

from verifygate.static.syntax.traversal import FIELDS

_INSTANCES = 30
"""Of so many, CPython has learned how many names an instance of a class has, and leaves room for no more."""
_WITH_DICT = frozenset({ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef})

_DICTS: dict[type[ast.AST], dict[str, Any]] = {}
"""Kind of node -> a dict that has its names and shares them with its copies."""
_OPTIONAL: dict[type[ast.AST], tuple[str, ...]] = {
    kind: tuple(name for name in kind._fields if getattr(kind, name, ...) is None) for kind in FIELDS
}
"""Kind of node -> its fields that may be None, which is what the class itself says of them."""
_MAKERS: dict[tuple[type[ast.AST], tuple[str, ...]], Callable[[dict[str, Any]], ast.AST]] = {}
"""Kind of node, and the names of what is not there -> what makes one of the same kind, with slots for all else."""
_NONE: list[Any] = []
"""What stands for every empty list: nobody changes the lists of a tree."""
_NUMBERS: dict[int, int] = {}
"""Number of a line -> the same number, one object for all nodes there."""


def slim(tree: ast.AST, levels: int) -> bool:
    """Make every node of a tree small; whether some lie so many levels below the root, or more, which stay large."""
    level = [_small(tree)]
    for _ in range(levels):
        below: list[Any] = []
        for node in level:
            for name in FIELDS[node.__class__]:
                value = getattr(node, name)
                if value.__class__ is list:
                    if value:
                        value[:] = [_small(each) if each is not None else None for each in value]
                        below += value
                    else:
                        setattr(node, name, _NONE)
                elif value is not None:
                    small = _small(value)
                    below.append(small)
                    setattr(node, name, small)
        level = [node for node in below if node is not None]
        if not level:
            return False
    return True


def _small(node: ast.AST) -> ast.AST:
    """A node that holds the same in less memory: another one, or itself where it keeps its dict."""
    kind, held = node.__class__, node.__dict__
    if "end_lineno" in held:
        first, last = held["lineno"], held["end_lineno"]
        held["lineno"] = line = _NUMBERS.setdefault(first, first)
        held["end_lineno"] = line if last == first else _NUMBERS.setdefault(last, last)
    if kind in _WITH_DICT:
        node.__dict__ = (_DICTS.get(kind) or _dict_of(kind)) | held
        return node
    missing = tuple([name for name in _OPTIONAL[kind] if held[name] is None]) if _OPTIONAL[kind] else ()
    make = _MAKERS.get((kind, missing)) or _maker(kind, missing, held)
    return make(held)


def _dict_of(kind: type[ast.AST]) -> dict[str, Any]:
    class Alike:
        """The class whose instances have the names of one kind of nodes."""

    one = Alike()
    for _ in range(_INSTANCES):
        one = Alike()
        for name in (*kind._fields, *kind._attributes):
            setattr(one, name, None)
    found = _DICTS[kind] = vars(one)
    return found


def _maker(kind: type[ast.AST], missing: tuple[str, ...], held: Iterable[str]) -> Callable[[dict[str, Any]], ast.AST]:
    """What makes a node with slots for what is there. It says that it is of the kind itself, as whoever asks expects.

    It is compiled for the names: the constructor of all nodes, which looks each name up, takes half as long again.
    """
    names = tuple(name for name in held if name not in missing)
    slotted = type(kind.__name__, (kind,), {"__slots__": names, "__class__": kind})
    lines = "".join(f" node.{name} = held[{name!r}]\n" for name in names)
    known: dict[str, Any] = {"new": slotted.__new__, "slotted": slotted}
    exec(f"def make(held):\n node = new(slotted)\n{lines} return node", known)  # noqa: S102 - of names alone
    made: Callable[[dict[str, Any]], ast.AST] = known["make"]
    _MAKERS[kind, missing] = made
    return made
