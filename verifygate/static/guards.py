"""Whether a read of a key is guarded: the function asks for the key first, or catches what its absence raises."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.static.program import Function
from verifygate.static.roles import last_name
from verifygate.static.syntax import walk


def guarded(node: ast.Subscript, key: str, function: Function) -> bool:
    """Whether the function asks for the key first, or catches what its absence raises."""
    return any(
        (isinstance(each, ast.Compare) and isinstance(each.left, ast.Constant) and each.left.value == key)
        or (isinstance(each, ast.Call) and last_name(each.func) in ("get", "pop") and _names(each, key))
        or (isinstance(each, ast.Try) and _catches_key_error(each) and _within(node, each.body))
        for each in function.own_nodes
    )


def _names(call: ast.Call, key: str) -> bool:
    return bool(call.args) and isinstance(call.args[0], ast.Constant) and call.args[0].value == key


def _catches_key_error(node: ast.Try) -> bool:
    names = {name for handler in node.handlers for name in _handled(handler)}
    return bool(names & {"KeyError", "LookupError", "Exception", "BaseException", ""})


def _handled(handler: ast.ExceptHandler) -> Iterator[str]:
    if handler.type is None:
        yield ""
    elif isinstance(handler.type, ast.Tuple):
        yield from (ast.unparse(each) for each in handler.type.elts)
    else:
        yield ast.unparse(handler.type)


def _within(node: ast.AST, body: list[ast.stmt]) -> bool:
    return any(node is each for statement in body for each in walk(statement))
