"""Angles that are a matrix product of positions and frequencies, as rotary embeddings make them under autocast."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.base.records import record
from verifygate.static.analysis import Analysis
from verifygate.static.facts.dtype_lattice import HALVES
from verifygate.static.facts.framework_precisions import Precision
from verifygate.static.idioms.delegated_autocast import region_around
from verifygate.static.idioms.frequency_buffers import are_frequencies, registered_frequencies, with_definitions
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name

_PRODUCTS = frozenset({"matmul", "mm", "bmm"})
"""What autocast computes in half; `outer` and an `einsum` without a sum are products of elements, which it leaves."""
_AUTOCASTS = (Precision.FLOAT16, Precision.BFLOAT16)
_ANGLES = frozenset({"sin", "cos", "polar"})
_WORDS = (b"@", b"matmul", b".mm(", b"bmm(")


@record(eq=False)
class AngleProduct:
    """One such product, and the region that it runs in."""

    place: Location
    region: Location | None
    """None where a framework opens it, and nothing in sight gives that its precision."""


def angle_products(function: Function, analysis: Analysis) -> Iterator[AngleProduct]:
    """Those of a function that autocast computes in half."""
    module = function.module
    if not module.mentions(b"arange") or not module.mentions(*_WORDS):
        return
    if not any(last_name(call.func) in _ANGLES for call in function.calls):
        return
    for node in function.own_nodes:
        operands = _operands(node)
        if not any(_is_of_frequencies(each, function, analysis) for each in operands):
            continue
        if not any(_is_double(each, function) for each in operands):
            yield from _in_half(Location(function, node), analysis)


def _operands(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.BinOp(op=ast.MatMult(), left=left, right=right):
            return [left, right]
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr=attr), args=[left, right, *_]):
            return [left, right] if attr in _PRODUCTS else []
        case ast.Call(func=ast.Attribute(value=left, attr=attr), args=[right, *_]):
            return [left, right] if attr in _PRODUCTS else []
    return []


def _is_of_frequencies(operand: ast.expr, function: Function, analysis: Analysis) -> bool:
    """Whether an operand is a buffer of frequencies, or worked out from `arange` by powers in the function."""
    if are_frequencies(operand, function):
        return True
    nodes = with_definitions(operand, function)
    read = {node.attr for node in nodes if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "self"}
    return (
        function.owner is not None
        and bool(read)
        and not read.isdisjoint(registered_frequencies(function.owner, analysis))
    )


def _is_double(operand: ast.expr, function: Function) -> bool:
    """Whether an operand is cast to float64, which autocast leaves alone."""
    return any(
        isinstance(node, ast.Attribute) and node.attr in ("double", "float64")
        for node in with_definitions(operand, function)
    )


def _in_half(place: Location, analysis: Analysis) -> Iterator[AngleProduct]:
    """The product, where a half region is open around it."""
    coverage = analysis.region_coverage
    cover = coverage.cover(place.node, place.function)
    if cover is not None and cover.certain:
        if analysis.region_dtypes.of(cover.region) <= HALVES and not coverage.trains_not(cover.region):
            yield AngleProduct(place, cover.region.place)
        return
    if coverage.written_around(place.node, place.function) is not None:
        return
    handle = region_around(place.node, place.function, analysis)
    if handle is not None and handle.may_be(*_AUTOCASTS):
        yield AngleProduct(place, handle.place)
