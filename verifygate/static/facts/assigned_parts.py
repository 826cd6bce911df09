"""Targets of assignments and the parts of the values that they get; dicts and lists as they are written out."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.static.syntax.names import last_name
from verifygate.static.values.domain import dict_items


def base_name(name: str) -> str:
    """The variable at the start of a name; of an attribute of `self`, that attribute."""
    parts = name.partition("[")[0].split(".")
    return ".".join(parts[:2]) if parts[0] == "self" else parts[0]


def target_names(target: ast.expr) -> Iterator[str]:
    for part in target.elts if isinstance(target, ast.Tuple | ast.List) else (target,):
        yield ast.unparse(part)


def assigned_parts(node: ast.AST) -> Iterator[tuple[str, ast.expr, int | None]]:
    """The targets of an assignment, each with the value and the position of its part in it."""
    for target in node.targets if isinstance(node, ast.Assign) else ():
        if not isinstance(target, ast.Tuple | ast.List):
            yield ast.unparse(target), node.value, None  # type: ignore[attr-defined]
            continue
        for number, part in enumerate(target.elts):
            if isinstance(part, ast.Starred):
                break
            yield ast.unparse(part), node.value, number  # type: ignore[attr-defined]


def is_empty(value: ast.expr) -> bool:
    """Whether a value is a dict or a list with nothing in it yet: `{}`, `dict()`, `defaultdict(list)`."""
    match value:
        case ast.Dict(keys=[]) | ast.List(elts=[]) | ast.Call(func=ast.Name(id="dict" | "list"), args=[], keywords=[]):
            return True
        case ast.Call(func=func):
            return last_name(func) in ("defaultdict", "OrderedDict")
    return False


def of_key(value: ast.expr, key: str) -> list[ast.expr]:
    """What a dict that is written out has under a key."""
    return [item] if isinstance(value, ast.Dict | ast.Call) and (item := dict_items(value).get(key)) else []
