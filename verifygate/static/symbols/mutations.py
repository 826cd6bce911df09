"""What a function puts into objects that its variables hold: `losses.append(x)`, `out["a"] = x`, `buffer.copy_(x)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from verifygate.static.symbols.program import Function
from verifygate.static.syntax.container_methods import PUT
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk

_ADDERS = PUT | {"push", "register_buffer", "set"}
_CONTAINERS = frozenset(
    "list dict set deque defaultdict OrderedDict Counter SimpleNamespace Namespace EasyDict Queue".split()  # noqa: SIM905
)


@lru_cache(maxsize=1024)
def put_into(function: Function) -> dict[str, list[ast.expr]]:
    """Variable -> what statements of a function, or of one inside it, put into the object, wherever they stand."""
    found: dict[str, list[ast.expr]] = {}
    for node in walk(function.node):
        for holder, values in _puts(node):
            if name := _root(holder):
                found.setdefault(name, []).extend(values)
    return found


@lru_cache(maxsize=1024)
def handed_over(function: Function) -> dict[str, list[ast.Call]]:
    """Variable -> the calls that are given the object as it is."""
    found: dict[str, list[ast.Call]] = {}
    for node in walk(function.node):
        if isinstance(node, ast.Call):
            for given in (*node.args, *(word.value for word in node.keywords)):
                if isinstance(given, ast.Name):
                    found.setdefault(given.id, []).append(node)
    return found


def is_container(expr: ast.expr | None) -> bool:
    """Whether an expression makes an object that is there to be filled: a display, `dict()`, `SimpleNamespace()`."""
    if isinstance(expr, ast.Call):
        return last_name(expr.func) in _CONTAINERS
    return isinstance(expr, ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp)


def _puts(node: ast.AST) -> Iterator[tuple[ast.expr, list[ast.expr]]]:
    """What a node changes, and what it puts there."""
    match node:
        case ast.Assign(targets=targets, value=value):
            yield from ((each, [value]) for each in targets if isinstance(each, ast.Subscript | ast.Attribute))
        case ast.AugAssign(target=ast.Subscript() | ast.Attribute() as target, value=value):
            yield target, [value]
        case ast.AnnAssign(target=ast.Subscript() | ast.Attribute() as target, value=ast.expr() as value):
            yield target, [value]
        case ast.Call(func=ast.Name(id="setattr"), args=[holder, _, value]):
            yield holder, [value]
        case ast.Call(args=args, keywords=words):
            given = [*args, *(word.value for word in words)]
            if isinstance(node.func, ast.Attribute) and given and _changes(node.func.attr):
                yield node.func.value, given
            yield from ((word.value, given) for word in words if word.arg == "out")


def _changes(method: str) -> bool:
    return method in _ADDERS or (method.endswith("_") and not method.endswith("__"))


def _root(expr: ast.expr) -> str:
    """`out` of `out["a"].setdefault("b", []).rows`."""
    while isinstance(expr, ast.Subscript | ast.Attribute | ast.Call):
        expr = expr.func if isinstance(expr, ast.Call) else expr.value
    return expr.id if isinstance(expr, ast.Name) else ""
