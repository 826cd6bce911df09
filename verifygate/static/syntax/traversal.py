"""Traverse syntax trees fast: only fields that can hold nodes are read, so neither `ctx` nor operators.

`ast.walk` asks every node for every field, line numbers and names among them, and costs four times as much.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

_PLAIN = frozenset(
    """arg asname attr conversion ctx id is_async kind kwd_attrs level module name op ops rest simple str
    type_comment type_ignores""".split()  # noqa: SIM905
)
"""Fields that hold text, numbers, or nodes without fields of their own."""


def _fields(kind: type[ast.AST]) -> tuple[str, ...]:
    if kind in (ast.Constant, ast.Global, ast.Nonlocal, ast.MatchSingleton):
        return ()
    return tuple(name for name in kind._fields if name not in _PLAIN)


FIELDS: dict[type[ast.AST], tuple[str, ...]] = {
    kind: _fields(kind) for kind in vars(ast).values() if isinstance(kind, type) and issubclass(kind, ast.AST)
}
"""Kind of node -> its fields that hold nodes or lists of nodes, in source order."""


LEAVES = frozenset(kind for kind, names in FIELDS.items() if not names)
"""Kinds of nodes that hold no others: half of a tree."""
WITH_GAPS = frozenset({ast.Dict, ast.arguments})
"""Kinds whose lists hold None for what is not there: `**other` has no key."""


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below a node, in the order of its fields."""
    found: list[ast.AST | None] = []
    for name in FIELDS[node.__class__]:
        value = getattr(node, name)
        if value.__class__ is list:
            found += value
        elif value is not None:
            found.append(value)
    if node.__class__ not in WITH_GAPS:
        return found  # type: ignore[return-value]
    return [each for each in found if each is not None]


def walk(root: ast.AST) -> Iterator[ast.AST]:
    """The node and everything below it, level by level, as `ast.walk` does."""
    level = [root]
    while level:
        yield from level
        below: list[ast.AST] = []
        for node in level:
            kind = node.__class__
            if kind in WITH_GAPS:
                below += children(node)
                continue
            for name in FIELDS[kind]:  # as `children` does, without a call for every node
                value = getattr(node, name)
                if value.__class__ is list:
                    below += value
                elif value is not None:
                    below.append(value)
        level = below


_OPEN = frozenset(kind for kind in FIELDS if "end_lineno" not in kind._attributes or "decorator_list" in kind._fields)
"""Kinds whose place does not tell how much they hold."""


def deeper_than(tree: ast.AST, levels: int) -> bool:
    """Whether some node lies so many levels below the root, or more.

    What stands in one line holds no more levels than bytes: most of a tree need not be gone through.
    """
    level: list[ast.AST] = [tree]
    below: list[ast.AST | None] = []
    for left in range(levels - 1, -1, -1):
        below = []
        for node in level:
            for name in FIELDS[node.__class__]:
                value = getattr(node, name)
                if value.__class__ is list:
                    below += value
                else:
                    below.append(value)
        level = [
            node
            for node in below
            if node is not None
            and (kind := node.__class__) not in LEAVES
            and (
                kind in _OPEN
                or node.lineno != node.end_lineno  # type: ignore[attr-defined]
                or node.end_col_offset - node.col_offset >= left  # type: ignore[attr-defined]
            )
        ]
    return any(node is not None for node in below)


def is_number(expr: ast.expr) -> bool:
    return isinstance(expr, ast.Constant) and isinstance(expr.value, int | float)


def is_none(expr: ast.expr | None) -> bool:
    """Whether an expression is a written `None`; one that is not there is none."""
    return isinstance(expr, ast.Constant) and expr.value is None


def is_script(test: ast.expr) -> bool:
    """Whether a condition asks if the file runs as a script: `__name__ == "__main__"`."""
    return any(isinstance(each, ast.Name) and each.id == "__name__" for each in walk(test))
