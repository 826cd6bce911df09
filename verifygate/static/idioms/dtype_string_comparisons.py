"""Comparisons of a word with a dtype, which never hold: `half == torch.float16`, where `half` is "fp16"."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.static.analysis import Analysis
from verifygate.static.facts.dtype_lattice import BY_NAME
from verifygate.static.symbols.program import Function
from verifygate.static.values.domain import Frame, Literal, Value


def never_holds(node: ast.AST, function: Function, analysis: Analysis) -> Iterator[ast.expr]:
    """The conditions on the way to a node that compare a word with a dtype."""
    frame = analysis.evaluator.root_frame(function)
    for test, holds in analysis.enclosing.conditions(node, function):
        if holds and _is_never_equal(test, frame, analysis):
            yield test


def _is_never_equal(test: ast.expr, frame: Frame, analysis: Analysis) -> bool:
    """Whether a test asks if something that is a word in every call is a dtype."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq | ast.Is):
        return False
    for word, dtype in ((test.left, test.comparators[0]), (test.comparators[0], test.left)):
        if analysis.roles.known_name(dtype, frame) in BY_NAME:
            values = list(_values(word, frame, analysis))
            return bool(values) and all(isinstance(each, Literal) and isinstance(each.value, str) for each in values)
    return False


def _values(expr: ast.expr, frame: Frame, analysis: Analysis) -> Iterator[Value]:
    """What an expression may be: of a parameter what the calls pass, and its default."""
    function = frame.function
    if not isinstance(expr, ast.Name) or expr.id not in {each.arg for each in function.parameters}:
        yield from analysis.evaluator.values(expr, frame)
        return
    given = [bound for _, bound in analysis.call_graph.given(expr.id, function)]
    default = function.default(expr.id)
    if default is not None and len(given) < len(analysis.call_graph.sites(function) or [None]):
        yield from analysis.evaluator.values(default, analysis.evaluator.module_frame(function.module))
    for bound in given:
        yield from analysis.evaluator.values(bound.expr, bound.frame)
