"""Outputs of models that leave an autocast region in half precision, followed through what comes after it."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from verifygate.naming import names_a_loss, names_a_loss_function, names_a_whole_model, speaks_of_a_model
from verifygate.static.amp.autocast_regions import WrittenRegion
from verifygate.static.symbols.program import Class, Function
from verifygate.static.symbols.scopes import bound_targets
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import ClassValue, ExternalName, ExternalResult, Object

if TYPE_CHECKING:
    from verifygate.static.analysis import Analysis

_CASTS = r"float32|float64|autocast"
_COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge", "isin", "isnan", "isfinite", "logical_not", "one_hot"})
_PRODUCTS = frozenset({"mm", "bmm", "matmul", "einsum"})
LAYERS = r"^torch\.nn\.(Linear|Conv(Transpose)?\dd)$"
_SCALES = r"(?i)temp|tau$|scale|inv_t"
_SAME_DTYPE = frozenset(
    {"view", "reshape", "flatten", "squeeze", "unsqueeze", "permute", "transpose", "contiguous", "unfold", "mean"}
)
_RUNS = r"infer|predict|encode|decode|extract|project|logits|features"
"""What methods of a model are called that run it."""


def outputs_of(region: WrittenRegion, analysis: Analysis) -> set[str]:
    """Variables of the region that a call of some model gives their value, and nothing in it changes after."""
    frame = analysis.evaluator.root_frame(region.function)
    names: set[str] = set()
    for target, binding in bound_targets(region.nodes):
        if not isinstance(target, ast.Name):
            continue
        call = binding.expr.elt if isinstance(binding.expr, ast.ListComp) else binding.expr
        if binding.kind == "value" and call is not None and taken_from(reshaped(call)) in names:
            names.add(target.id)
            continue
        names.discard(target.id)
        if binding.kind not in ("value", "item") or not isinstance(call, ast.Call) or names_a_loss(target.id):
            continue
        if names_a_loss_function(last_name(call.func)) or not isinstance(
            call.func, ast.Name | ast.Attribute | ast.Subscript
        ):
            continue
        values = analysis.evaluator.values(call.func, frame)
        if any(isinstance(value, ExternalName) for value in values):
            continue
        layers = [isinstance(value, ExternalResult) and multiplies_last(value, analysis) for value in values]
        if not (layers and all(layers)) and _is_method_of_tensor(call):
            continue
        part = binding.position if binding.kind == "item" else 0
        if any(casts_itself(value.made, part, analysis) for value in values if isinstance(value, Object)):
            continue
        names.add(target.id)
    return names


def _is_method_of_tensor(call: ast.Call) -> bool:
    """Whether the call is rather a method of a value than a model: only calls of models and their `forward`s count."""
    if not isinstance(call.func, ast.Attribute):
        return False
    runs = re.search(_RUNS, call.func.attr) and names_a_whole_model(last_name(call.func.value))
    return not runs and not speaks_of_a_model(call.func.attr)


def casts_itself(made: Class, part: int, analysis: Analysis) -> bool:
    """Whether a model casts in its forward, and what it gives (`part` of it) is not the output of a layer after all."""
    forward = next(
        (base.methods["forward"] for base in analysis.evaluator.linearised(made) if "forward" in base.methods), None
    )
    if forward is None or not casts(forward.node):
        return False
    return not forward.returns or not all(_is_of_a_layer(each, part, forward, analysis) for each in forward.returns)


def _is_of_a_layer(given: ast.expr, part: int, function: Function, analysis: Analysis) -> bool:
    """Whether a value is what a layer that multiplies matrices has just made, which is half under autocast."""
    if getattr(function.node, "decorator_list", ()):
        return False
    if isinstance(given, ast.Tuple):
        given = given.elts[part] if part < len(given.elts) else given
    if isinstance(given, ast.Name):
        bindings = function.scope.names.get(given.id, ())
        last = max(bindings, key=lambda each: getattr(each.node, "lineno", 0), default=None)
        if last is None or last.expr is None or last.kind != "value" or last.node not in function.node.body:
            return False
        given = last.expr
    if not isinstance(given, ast.Call):
        return False
    values = analysis.evaluator.values(given.func, analysis.evaluator.root_frame(function))
    return bool(values) and all(isinstance(each, ExternalResult) and re.match(LAYERS, each.name) for each in values)


def casts(node: ast.AST) -> bool:
    """Whether a function casts what it is given, or enters a region itself."""
    for each in walk(node):
        if re.search(_CASTS, getattr(each, "id", None) or getattr(each, "attr", None) or ""):
            return True
        match each:
            case ast.Call(func=ast.Attribute(value=cast, attr="float" | "double")) if not _compares(cast):
                return True
    return False


def _compares(expr: ast.expr) -> bool:
    """Whether a value is the outcome of a comparison: the numbers that `.float()` makes of it are no output's."""
    while isinstance(expr, ast.Call) and isinstance(expr.func, ast.Attribute) and expr.func.attr not in _COMPARISONS:
        expr = expr.func.value
    return isinstance(expr, ast.Compare) or (isinstance(expr, ast.Call) and last_name(expr.func) in _COMPARISONS)


def taken_from(expr: ast.expr) -> str:
    """The variable that an argument is, or is a part of: `outputs`, `outputs["logits"]`, `outputs.logits`."""
    while isinstance(expr, ast.Attribute | ast.Subscript | ast.Starred):
        expr = expr.value
    return expr.id if isinstance(expr, ast.Name) else ""


def reshaped(expr: ast.expr) -> ast.expr:
    """What an expression is a view or a mean of, by a method or a function of torch: of the same dtype."""
    while isinstance(expr, ast.Call) and isinstance(expr.func, ast.Attribute) and expr.func.attr in _SAME_DTYPE:
        by_function = last_name(expr.func.value) == "torch"
        if by_function and not expr.args:
            break
        expr = expr.args[0] if by_function else expr.func.value
    return expr


def follow_assignment(node: ast.Assign | ast.For, names: set[str], function: Function, analysis: Analysis) -> None:
    """Follow the outputs through what comes after the region: parts, views and products of some are outputs."""
    if isinstance(node, ast.For):
        pairs = _drawn(node.target, node.iter)
    else:
        pairs = [pair for target in node.targets for pair in _assigned(target, node.value)]
    half = [bool(half_in(value, names)) or _is_made_of(value, names, function, analysis) for _, value in pairs]
    for (part, _), is_half in zip(pairs, half, strict=True):
        if isinstance(part, ast.Name):
            (names.add if is_half else names.discard)(part.id)


def _assigned(target: ast.expr, given: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """The targets of an assignment, each with what it is given: a part of a tuple written out, or the whole."""
    parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
    apart = isinstance(given, ast.Tuple) and len(given.elts) == len(parts)
    return list(zip(parts, given.elts if apart else [given] * len(parts), strict=True))  # type: ignore[attr-defined]


def _drawn(target: ast.expr, given: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """The variables of a loop, each with what it goes over: `for a, b in zip(ones, others)`."""
    name = last_name(given.func) if isinstance(given, ast.Call) else ""
    match target, given:
        case ast.Tuple(elts=[_, part]), ast.Call(args=[over, *_]) if name == "enumerate":
            return _drawn(part, over)
        case ast.Tuple(elts=parts), ast.Call(args=args) if name == "zip":
            return list(zip(parts, args, strict=False))
        case ast.Tuple(elts=parts), _:
            return [(part, given) for part in parts]
    return [(target, given)]


def half_in(expr: ast.expr, names: set[str]) -> str:
    """The output that makes a value half: a part or a view of one, a product of matrices, a difference of two."""
    expr = reshaped(expr)
    match expr:
        case ast.BinOp(left=left, op=ast.MatMult(), right=right):  # torch multiplies matrices of one dtype only
            return half_in(left, names) or half_in(right, names)
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div(), right=right):
            one, other = (right, left) if _is_scale(left) else (left, right)
            return half_in(one, names) if _is_scale(other) else ""
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):  # a float32 on one side makes it float32
            return half_in(left, names) if half_in(right, names) else ""
        case ast.Call(func=ast.Attribute(value=receiver, attr=name), args=args) if name in _PRODUCTS:
            return next(filter(None, (half_in(each, names) for each in (receiver, *args))), "")
        case ast.Call(func=ast.Attribute(value=turned, attr="t"), args=[]):
            return half_in(turned, names)
        case ast.Attribute(value=turned, attr="T" | "mT"):
            return half_in(turned, names)
    name = taken_from(expr)
    return name if name in names else ""


def _is_scale(expr: ast.expr) -> bool:
    """Whether something is a number, or goes by the name of one: it leaves the dtype of what it scales."""
    while isinstance(expr, ast.Call) and isinstance(expr.func, ast.Attribute) and not expr.args:
        expr = expr.func.value
    return isinstance(expr, ast.Constant) or bool(re.search(_SCALES, last_name(expr)))


def _is_made_of(expr: ast.expr, names: set[str], function: Function, analysis: Analysis) -> bool:
    """Whether a function of the project multiplies an output it is given, and casts nothing, or a record holds it."""
    if not isinstance(expr, ast.Call) or not names & {
        each.id
        for given in (*expr.args, *(word.value for word in expr.keywords))
        if isinstance(each := reshaped(given), ast.Name)
    }:
        return False
    frame = analysis.evaluator.root_frame(function)
    if any(word.arg is None for word in expr.keywords):
        return any(isinstance(value, ClassValue) for value in analysis.evaluator.values(expr.func, frame))
    callees = [callee.function.node for callee in analysis.evaluator.callees(expr, frame)]
    return any(_multiplies(callee) and not casts(callee) for callee in callees)


def _multiplies(node: ast.AST) -> bool:
    """Whether a function returns something, and multiplies matrices for it."""
    nodes = tuple(walk(node))
    products = (isinstance(each, ast.MatMult) or getattr(each, "attr", "") in _PRODUCTS for each in nodes)
    return any(isinstance(each, ast.Return) for each in nodes) and any(products)


def multiplies_last(value: ExternalResult, analysis: Analysis) -> bool:
    """Whether a module of torch ends in a product of matrices."""
    if re.match(LAYERS, value.name) or value.name == "torch.nn.Module":
        return True
    if value.name != "torch.nn.Sequential" or not value.calls or not value.calls[0][0].args:
        return False
    call, frame = value.calls[0]
    return all(
        isinstance(last, ExternalResult) and multiplies_last(last, analysis)
        for last in analysis.evaluator.values(call.args[-1], frame)
    )
