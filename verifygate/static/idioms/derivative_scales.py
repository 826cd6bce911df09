"""Data flow of inner derivatives: whether what `torch.autograd.grad` gives is divided by the loss scale afterwards."""

from __future__ import annotations

import ast

from verifygate.static.analysis import Analysis
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import Literal

CALLS_FOLLOWED = 3
_ASKED = ("get_scale", "inv_scale")


def is_divided(source: ast.Call, function: Function, analysis: Analysis, depth: int) -> bool:
    """Whether a derivative, or what it flows into, may be divided by the scale: here, in a call or in a caller."""
    derived = _flow(source, function)
    nodes = [node for node in function.own_nodes if not isinstance(node, ast.Name)]
    for node in nodes:
        if any(_meets_scale(one, other, derived, function, analysis) for one, other in _factors(node)):
            return True
        given = depth and isinstance(node, ast.Call) and node is not source and _takes(node, derived)
        called = analysis.call_graph.callees(node, function) if given else ()  # type: ignore[arg-type]
        if any(_names_scale(node, each, analysis) for each in called for node in each.own_nodes):
            return True
    if not depth or not any(_holds(result, derived) for result in function.returns):
        return False
    sites = analysis.call_graph.sites(function)
    return any(is_divided(site.call, site.caller, analysis, depth - 1) for site in sites)


def _names_scale(node: ast.AST, function: Function, analysis: Analysis) -> bool:
    """Whether a name may be the scale's: not a scaler's, and not that of its method which scales a loss."""
    if not isinstance(node, ast.Name | ast.Attribute) or "scale" not in last_name(node):
        return False
    if last_name(node).endswith("scaler") or (isinstance(node, ast.Attribute) and node.attr == "scale"):
        return False
    return not _is_a_number(node, function, analysis)


def _flow(source: ast.Call, function: Function) -> tuple[ast.Call, set[str]]:
    """A call, and the local names that hold its result or what is computed from it."""
    names: set[str] = set()
    while True:
        found = {
            name
            for name, bindings in function.scope.names.items()
            for each in bindings
            if each.expr is not None and _holds(each.expr, (source, names))
        }
        if found <= names:
            return source, names
        names |= found


def _holds(expr: ast.AST, derived: tuple[ast.Call, set[str]]) -> bool:
    source, names = derived
    return any(node is source or (isinstance(node, ast.Name) and node.id in names) for node in walk(expr))


def _takes(call: ast.Call, derived: tuple[ast.Call, set[str]]) -> bool:
    return any(_holds(each, derived) for each in (*call.args, *(word.value for word in call.keywords)))


def _factors(node: ast.AST) -> list[tuple[ast.expr, ast.expr]]:
    """The dividend and the divisor of a quotient, and the factors of a product, either way round."""
    match node:
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return [(left, right)]
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return [(left, right), (right, left)]
        case ast.AugAssign(target=left, op=ast.Div() | ast.Mult(), value=right):
            return [(left, right)]
        case ast.Call(func=ast.Attribute(value=left, attr="div" | "div_" | "mul" | "mul_"), args=[right, *_]):
            return [(left, right)]
        case ast.Call(func=ast.Attribute(attr=attr), args=[left, right, *_]) if "div" in attr or "mul" in attr:
            return [(left, right), (right, left)]
    return []


def _meets_scale(
    value: ast.expr, other: ast.expr, derived: tuple[ast.Call, set[str]], function: Function, analysis: Analysis
) -> bool:
    """Whether a derivative is divided by what may be the scale, or by its own size, in which the scale is too."""
    match value:
        case ast.Call(func=ast.Attribute(attr="item" | "detach")) | ast.Call(func=ast.Name(id="float")):
            return False  # what is only shown is no part of the loss
    return _holds(value, derived) and (
        _may_be_scale(other, function, CALLS_FOLLOWED, analysis) or _holds(other, derived)
    )


def _may_be_scale(expr: ast.AST, function: Function, followed: int, analysis: Analysis) -> bool:
    """Whether the scale may be in an expression: asked for, or under such a name, if that is no number of its own."""
    for node in walk(expr):
        if isinstance(node, ast.Name | ast.Attribute) and "scale" in last_name(node):
            if not _is_a_number(node, function, analysis):
                return True
        elif isinstance(node, ast.Name) and followed:
            bound = [each.expr for each in function.scope.names.get(node.id, ()) if each.expr is not None]
            if any(_may_be_scale(each, function, followed - 1, analysis) for each in bound):
                return True
    return False


def called_a_scale(source: ast.Call, function: Function, analysis: Analysis) -> ast.expr | None:
    """What a derivative is divided by that only its name makes a scale; None where it is one that a scaler gave."""
    derived = _flow(source, function)
    scales = [
        other
        for node in function.own_nodes
        for one, other in _factors(node)
        if _meets_scale(one, other, derived, function, analysis)
    ]
    if any(_holds(each, derived) or _asks_for_scale(each, function, CALLS_FOLLOWED) for each in scales):
        return None
    return next(iter(scales), None)


def _asks_for_scale(expr: ast.expr, function: Function, followed: int) -> bool:
    """Whether an expression asks a scaler for its scale, or a name in it is bound to what does."""
    if any(map(asks_for_scale_by_name, walk(expr))):
        return True
    names = {node.id for node in walk(expr) if isinstance(node, ast.Name)} if followed else ()
    bound = (each.expr for name in names for each in function.scope.names.get(name, ()) if each.expr is not None)
    return any(_asks_for_scale(each, function, followed - 1) for each in bound)


def _is_a_number(expr: ast.expr, function: Function, analysis: Analysis) -> bool:
    """Whether an expression is a number that is written down: the weight of a penalty, say."""
    values = analysis.evaluator.values(expr, analysis.evaluator.root_frame(function))
    return all(isinstance(value, Literal) and isinstance(value.value, int | float) for value in values)


def asks_for_scale_by_name(node: ast.AST) -> bool:
    return isinstance(node, ast.Name | ast.Attribute) and any(word in last_name(node) for word in _ASKED)
