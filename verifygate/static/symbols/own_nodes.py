"""Traverse the nodes of a body itself, without those of functions, classes and lambdas in it."""

from __future__ import annotations

import ast

from verifygate.static.syntax.deferred import DEFERRED
from verifygate.static.syntax.traversal import FIELDS, LEAVES, WITH_GAPS, children

CLOSED = LEAVES | DEFERRED | {ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda}
"""Kinds of nodes that a walk through a function's own does not enter.

Telling by the class alone is ten times as fast as `isinstance` of many.
"""
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


def never_runs(node: ast.FunctionDef | ast.AsyncFunctionDef, body: list[ast.stmt]) -> bool:
    """Whether a class binds the name of a method again further down, and nobody could take hold of the first.

    A decorator may have kept it, a statement of the class may use it: `first = step`.
    """
    if node.decorator_list or not any(each is node for each in body):
        return False
    below = body[[each is node for each in body].index(True) + 1 :]
    for statement in below:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef) and not statement.decorator_list:
            if statement.name == node.name:
                return True
            continue
        if any(isinstance(each, ast.Name) and each.id == node.name for each in ast.walk(statement)):
            return False
    return False


def replaces(node: ast.FunctionDef | ast.AsyncFunctionDef, body: list[ast.stmt]) -> bool:
    """Whether a definition takes the place of an earlier one: not in one arm of an `if`, not as `@name.setter`."""
    properties = [each.value for each in node.decorator_list if isinstance(each, ast.Attribute)]
    beside = any(getattr(each, "id", "") == node.name for each in properties)
    return not beside and any(each is node for each in body)
