"""What stands in a body: its own nodes, and the definitions that it makes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.static.symbols.scopes import FunctionNode
from verifygate.static.syntax.deferred import DEFERRED
from verifygate.static.syntax.traversal import FIELDS, LEAVES, WITH_GAPS, children

Definition = FunctionNode | ast.ClassDef
CLOSED = LEAVES | DEFERRED | {ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda}
"""Kinds of nodes that a walk through a function's own does not enter.

Telling by the class alone is ten times as fast as `isinstance` of many.
"""
_WITH_BLOCKS = frozenset(
    {ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.TryStar, ast.Match}
)
_FROM_LAST = {kind: names[::-1] for kind, names in FIELDS.items()}


def own_nodes(root: ast.AST) -> list[ast.AST]:
    """Walk in source order without entering nested functions, classes and lambdas."""
    found: list[ast.AST] = []
    stack = list(reversed(_body(root)))
    while stack:
        node = stack.pop()
        found.append(node)
        kind = node.__class__
        if kind in CLOSED:
            continue
        if kind in WITH_GAPS:
            stack += reversed(children(node))
            continue
        for name in _FROM_LAST[kind]:  # as `children` does, without a call for every node
            value = getattr(node, name)
            if value.__class__ is list:
                stack += reversed(value)
            elif value is not None:
                stack.append(value)
    return found


def _body(node: ast.AST) -> list[ast.AST]:
    body = getattr(node, "body", [])
    return list(body) if isinstance(body, list) else [body]


def replaces(node: ast.FunctionDef | ast.AsyncFunctionDef, body: list[ast.stmt]) -> bool:
    """Whether a definition takes the place of an earlier one: not in one arm of an `if`, not as `@name.setter`."""
    properties = [each.value for each in node.decorator_list if isinstance(each, ast.Attribute)]
    beside = any(getattr(each, "id", "") == node.name for each in properties)
    return not beside and any(each is node for each in body)


def symbols_of(body: list[ast.stmt]) -> dict[Definition, str]:
    """The definitions of a body, in order, each with a name of its own, even if several bear the same."""
    found: dict[Definition, str] = {}
    taken: set[str] = set()
    for node in _nested_statements(body):
        if isinstance(node, Definition):
            found[node] = f"{node.name}@{node.lineno}" if node.name in taken else node.name
            taken.add(node.name)
    return found


def _nested_statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements of a body, and of the `if`, `try`, `with` and loops in it, but of no function or class."""
    for node in body:
        yield node
        if node.__class__ not in _WITH_BLOCKS:
            continue
        for inner in ("body", "orelse", "finalbody"):
            yield from _nested_statements(getattr(node, inner, []))
        for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            yield from _nested_statements(part.body)
