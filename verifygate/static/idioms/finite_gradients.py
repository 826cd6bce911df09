"""Hand-written checks that the gradients are finite: where one holds, the scaler skips no step."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name
from verifygate.torch_names import CLIP_FUNCTIONS

if TYPE_CHECKING:
    from verifygate.static.analysis import Analysis

_NAN, _INF = "nan", "inf"
_BOTH = frozenset({_NAN, _INF})
_NOTHING = frozenset[str]()
_NORMS = CLIP_FUNCTIONS | {"get_total_norm"}
_WRAPPERS = frozenset({"all", "any", "item", "bool", "float", "detach", "cpu"})
_DEPTH = 3


def runs_on_finite_gradients(node: ast.AST, function: Function, analysis: Analysis) -> bool:
    """Whether a node runs only where a norm of the gradients is neither NaN nor infinite.

    By the conditions around it, and by those whose branch has left before it.
    """
    excluded = _NOTHING
    for test, holds in analysis.path_conditions.conditions(Location(function, node)):
        excluded |= _excluded(test, holds, function, analysis)
    return excluded == _BOTH or _raises_before(node, function, analysis)


def _raises_before(node: ast.AST, function: Function, analysis: Analysis) -> bool:
    """Whether a clip in the same iteration raises where the norm is not finite: `error_if_nonfinite=True`."""
    loops = analysis.enclosing.loops(node, function)
    return any(
        call.lineno < node.lineno  # type: ignore[attr-defined]
        and last_name(call.func) in CLIP_FUNCTIONS
        and any(
            word.arg == "error_if_nonfinite" and isinstance(word.value, ast.Constant) and word.value.value is True
            for word in call.keywords
        )
        and analysis.enclosing.loops(call, function) == loops
        and not analysis.enclosing.conditions(call, function)
        for call in function.calls
    )


def _excluded(test: ast.expr, holds: bool, function: Function, analysis: Analysis) -> frozenset[str]:
    """Of NaN and inf, what the norm of the gradients is not where a condition comes out so."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return _excluded(inner, not holds, function, analysis)
        case ast.BoolOp(op=op, values=parts):
            found = [_excluded(part, holds, function, analysis) for part in parts]
            all_hold = isinstance(op, ast.And) == holds
            return frozenset.union(*found) if all_hold else frozenset.intersection(*found)
        case ast.Name(id=name):
            bindings = function.scope.names.get(name, ())
            only = bindings[0] if len(bindings) == 1 else None
            bound = only.expr if only is not None and only.kind == "value" else None
            return _excluded(bound, holds, function, analysis) if bound is not None else _NOTHING
        case ast.Compare(left=left, ops=[ast.Lt() | ast.LtE()]) if holds and _is_norm(left, function, analysis):
            return _BOTH
        case ast.Call():
            return _by_call(test, holds, function, analysis)
    return _NOTHING


def _by_call(call: ast.Call, holds: bool, function: Function, analysis: Analysis) -> frozenset[str]:
    name = last_name(call.func)
    receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
    of_module = receiver is not None and last_name(receiver) in ("torch", "math", "np", "numpy")
    subject = call.args[0] if call.args else receiver if not of_module else None
    if subject is None:
        return _NOTHING
    if name in _WRAPPERS:
        return _excluded(subject, holds, function, analysis)
    said = {("isfinite", True): _BOTH, ("isnan", False): frozenset({_NAN}), ("isinf", False): frozenset({_INF})}
    excluded = said.get((name, holds), _NOTHING)
    return excluded if excluded and _is_norm(subject, function, analysis) else _NOTHING


def _is_norm(expr: ast.expr, function: Function, analysis: Analysis, depth: int = _DEPTH) -> bool:
    """Whether an expression is what a clip, or torch's total norm, gives: in this function, or handed on by another."""
    if depth == 0:
        return False
    match expr:
        case ast.Name(id=name):
            bound = function.scope.names.get(name, ())
            return bool(bound) and all(
                each.kind == "value" and each.expr is not None and _is_norm(each.expr, function, analysis, depth - 1)
                for each in bound
            )
        case ast.Call(func=func):
            if last_name(func) in _NORMS:
                return True
            if last_name(func) in _WRAPPERS:
                inner = expr.args[0] if expr.args else func.value if isinstance(func, ast.Attribute) else None
                return inner is not None and _is_norm(inner, function, analysis, depth)
            callees = analysis.call_graph.callees(expr, function)
            return bool(callees) and all(
                bool(callee.returns) and all(_is_norm(each, callee, analysis, depth - 1) for each in callee.returns)
                for callee in callees
            )
    return False
