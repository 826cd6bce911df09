"""Arithmetic with the loss scale: whether a value, or what it is made of, is divided by it or handed on with it.

    norm = total_norm(model)                     # of scaled gradients, and
    print(norm / scaler.get_scale())             # the scale is taken out of this one

A scale that is asked for beside it, to be shown or compared, says nothing of the value.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from verifygate.static.symbols.program import Function
from verifygate.static.symbols.scopes import bound_targets
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk

_ASKED = frozenset({"get_scale", "_scale"})


def meets_the_scale(value: ast.AST, function: Function) -> bool:
    """Whether an operation, a call or a result of a function combines the scale with a value, or with what it is of."""
    bindings = [
        (ast.unparse(target), binding.expr)
        for target, binding in bound_targets(function.own_nodes)
        if isinstance(target, ast.Name | ast.Attribute) and binding.expr is not None
    ]
    scales = _closed({"inv_scale"}, bindings, _asks_for_scale)
    about = _closed(set(_objects(value)), bindings, lambda node: node is value)
    shown = {node.value for node in function.of_kind(ast.Expr) if not last_name(node.value).endswith("_")}
    kinds = (ast.BinOp, ast.AugAssign, ast.Call, ast.Return)
    for node in (each for kind in kinds for each in function.of_kind(kind) if each not in shown):
        parts = _operands(node)
        scaled = [part for part in parts if _holds(part, scales, _asks_for_scale)]
        if scaled and any(
            part is not other and _holds(other, about, lambda each: each is value) for part in scaled for other in parts
        ):
            return True
    return False


def _closed(names: set[str], bindings: list[tuple[str, ast.expr]], of: Callable[[ast.AST], bool]) -> set[str]:
    """The names, and those that are given what is made of them."""
    before = -1
    while len(names) > before:
        before = len(names)
        names |= {name for name, expr in bindings if _holds(expr, names, of)}
    return names


def _holds(expr: ast.AST, names: set[str], of: Callable[[ast.AST], bool]) -> bool:
    return any(
        of(node) or (isinstance(node, ast.Name | ast.Attribute) and ast.unparse(node) in names) for node in walk(expr)
    )


def _objects(value: ast.AST) -> Iterator[str]:
    """The variables, and the attributes of the own object, in an expression."""
    for node in walk(value):
        if isinstance(node, ast.Name) and node.id not in ("self", "torch"):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            yield ast.unparse(node)


def _asks_for_scale(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in _ASKED


def _operands(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.BinOp(left=left, right=right):
            return [left, right]
        case ast.AugAssign(target=left, value=right):
            return [left, right]
        case ast.Call(func=func, args=args, keywords=keywords):
            receiver = [func.value] if isinstance(func, ast.Attribute) else []
            return [*receiver, *args, *(word.value for word in keywords)]
        case ast.Return(value=ast.Tuple(elts=parts)):
            return parts
    return []
