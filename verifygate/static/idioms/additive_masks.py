"""Masks that are added to scores: multiples of zeros and ones in half, and lowest numbers added to each other."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.base.records import record
from verifygate.static.analysis import Analysis
from verifygate.static.facts.dtype_lattice import FLOAT16_MAX, HALVES, Dtype
from verifygate.static.facts.tensor_dtypes import UNKNOWN_LAYERS
from verifygate.static.symbols.program import Function
from verifygate.static.symbols.reaching_definitions import reaching
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import Frame

_DEPTH = 6
_PASSES = frozenset({"unsqueeze", "expand", "view", "reshape", "contiguous", "repeat", "triu", "tril", "to", "float"})
_BOUNDS = frozenset({"clamp", "clamp_", "clamp_min", "clamp_min_", "clip", "max", "maximum", "nan_to_num"})


@record(eq=False)
class AddedMask:
    """A sum in which a mask is -inf where it is to be the lowest number."""

    node: ast.BinOp
    function: Function
    mask: ast.expr
    twice: bool
    """Whether two masks of lowest numbers are added; else one is a constant that float16 does not hold, times ones."""


def added_masks(function: Function, analysis: Analysis) -> Iterator[AddedMask]:
    """The sums of a function that add such masks to a half tensor, or to each other."""
    sums = [node for node in function.of_kind(ast.BinOp) if isinstance(node.op, ast.Add | ast.Sub)]
    inner = {id(side) for node in sums for side in (node.left, node.right)}
    frame = analysis.evaluator.root_frame(function)
    for node in sums:
        if id(node) in inner:
            continue
        terms = [(term, _defined(term, function)) for term in _terms(node)]
        lowest = [term for term, meant in terms if _is_lowest(meant, frame, analysis)]
        if len(lowest) > 1 and not _is_bounded(node, function, analysis):
            yield AddedMask(node, function, lowest[1], twice=True)
            continue
        beyond = [term for term, meant in terms if _is_beyond(meant, frame, analysis)]
        if beyond and any(_is_half(term, frame, analysis) for term, _ in terms if term not in beyond):
            yield AddedMask(node, function, beyond[0], twice=False)


def _terms(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        yield from _terms(node.left)
        yield from _terms(node.right)
    else:
        yield node


def _defined(expr: ast.expr, function: Function) -> ast.expr:
    """What a name was last given, where that is one expression; else the expression itself."""
    for _ in range(_DEPTH):
        if not isinstance(expr, ast.Name):
            break
        bindings = reaching(expr.id, expr, function) or []
        if len(bindings) != 1 or bindings[0].kind != "value" or bindings[0].expr is None:
            break
        expr = bindings[0].expr
    return expr


def _is_half(expr: ast.expr, frame: Frame, analysis: Analysis) -> bool:
    dtypes = analysis.tensor_dtypes
    return dtypes.is_half(expr, frame) or dtypes.is_half(expr, frame, UNKNOWN_LAYERS)


def _is_beyond(expr: ast.expr, frame: Frame, analysis: Analysis) -> bool:
    """Whether it is a mask that a cast made half, times a number that float16 does not hold."""
    match expr:
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _is_beyond(operand, frame, analysis)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            for mask, number in ((left, right), (right, left)):
                value = analysis.constants.number(number, frame)
                if value is not None and FLOAT16_MAX < abs(value) < float("inf"):
                    return _is_cast_to_half(mask, frame, analysis, HALVES - {Dtype.BFLOAT16})
    return False


def _is_cast_to_half(
    expr: ast.expr, frame: Frame, analysis: Analysis, halves: frozenset[Dtype], steps: int = 0
) -> bool:
    """Whether a cast that is written out made it half; arithmetic with numbers leaves it so."""
    function = frame.function
    expr = _defined(expr, function)
    if steps > _DEPTH:
        return False
    match expr:
        case ast.UnaryOp(operand=operand):
            return _is_cast_to_half(operand, frame, analysis, halves, steps + 1)
        case ast.Subscript(value=value):
            return _is_cast_to_half(value, frame, analysis, halves, steps + 1)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
            for one, other in ((left, right), (right, left)):
                if analysis.constants.number(other, frame) is not None:
                    return _is_cast_to_half(one, frame, analysis, halves, steps + 1)
        case ast.Call(func=ast.Attribute(value=value, attr=name)):
            given = [*expr.args, *(word.value for word in expr.keywords if word.arg in ("dtype", "other"))]
            if name == "half":
                return not expr.args
            if name in ("to", "type", "type_as") and given:
                return any(_names_half(each, frame, analysis, halves, like=name == "type_as") for each in given)
            if name in _PASSES:
                return _is_cast_to_half(value, frame, analysis, halves, steps + 1)
    return False


def _names_half(expr: ast.expr, frame: Frame, analysis: Analysis, halves: frozenset[Dtype], *, like: bool) -> bool:
    """Whether it is a half dtype, or the dtype of a half tensor; or, with `like`, a half tensor."""
    if like:
        return _is_half(expr, frame, analysis)
    if isinstance(expr, ast.Attribute) and expr.attr == "dtype":
        return _is_half(expr.value, frame, analysis)
    dtypes = analysis.dtype_values.of(expr, frame)
    return bool(dtypes) and dtypes <= halves


def _is_lowest(expr: ast.expr, frame: Frame, analysis: Analysis) -> bool:
    """Whether it is a half tensor of lowest numbers: a mask times one, or filled with one."""
    match expr:
        case ast.BinOp(op=ast.Mult(), left=left, right=right):
            return any(_is_limit(each, frame, analysis) for each in (left, right))
        case ast.Call() if last_name(expr.func) in ("full", "full_like", "masked_fill", "where", *_PASSES):
            receiver = expr.func.value if isinstance(expr.func, ast.Attribute) else None
            given = [*expr.args, *(word.value for word in expr.keywords)]
            if last_name(expr.func) in _PASSES:
                return receiver is not None and _is_lowest(receiver, frame, analysis)
            fills = receiver is not None and last_name(expr.func) == "masked_fill"
            if fills and receiver is not None and _is_half(receiver, frame, analysis):
                return False  # scores that are masked at once
            return any(_is_limit(each, frame, analysis) for each in given)
    return False


def _is_limit(expr: ast.expr, frame: Frame, analysis: Analysis) -> bool:
    """Whether it is `torch.finfo(dtype).min`, of half."""
    expr = _defined(expr, frame.function)
    match expr:
        case ast.Attribute(attr="min", value=ast.Call(func=func, args=[dtype])) if last_name(func) == "finfo":
            return _names_half(dtype, frame, analysis, HALVES, like=False)
    return False


def _is_bounded(node: ast.expr, function: Function, analysis: Analysis) -> bool:
    """Whether the sum is bounded from below, at once or by the name that it is given."""
    parent = analysis.enclosing.parent(node, function)
    around: list[ast.AST] = [parent] if parent is not None else []
    if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name):
        name = parent.targets[0].id
        around += [call for call in function.calls if any(isinstance(n, ast.Name) and n.id == name for n in walk(call))]
    if isinstance(parent, ast.Attribute):
        around.append(parent)
    names = {last_name(each.func) for each in around if isinstance(each, ast.Call)}
    names |= {each.attr for each in around if isinstance(each, ast.Attribute)}
    return bool(names & _BOUNDS)
