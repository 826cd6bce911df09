"""Under which condition a line runs, in words: what is decided there holds in some runs only."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import islice

from verifygate.static.analysis import Analysis
from verifygate.static.facts.dtype_lattice import Dtype
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.traversal import is_script

ON_ONE_PATH = "on one path"
BY_DEFAULT = "by default"
_MOST_CALLERS = 3
_LONGEST = 70


def condition_at(place: Location, analysis: Analysis) -> str:
    """The conditions around a place, and around the only call of its function: "where `args.half`"; empty for none."""
    tests: list[str] = []
    function, node = place.function, place.node
    for _ in range(_MOST_CALLERS):
        tests = [*_around(Location(function, node), analysis), *tests]
        outside_tests = (each for each in analysis.call_graph.sites(function) if not each.caller.module.file.is_test)
        sites = list(islice(outside_tests, 2))
        if len(sites) != 1 or not function.symbol or sites[0].caller is function:
            break
        function, node = sites[0].caller, sites[0].call
    return where(" and ".join(tests))


def joined(first: str, second: str) -> str:
    """Two conditions as they stand behind a value, in one."""
    if not first or not second or second == ON_ONE_PATH:
        return first or second
    return where(f"{first.removeprefix('where ').strip('`')} and {second.removeprefix('where ').strip('`')}")


def cast_where(cast: Location, dtype: Dtype, analysis: Analysis) -> str:
    """Under which test a cast is one to a dtype, where its argument chooses between several."""
    call = cast.node
    if not isinstance(call, ast.Call):
        return ""
    given = [*call.args, *(word.value for word in call.keywords if word.arg is not None)]
    found = (chosen_where(each, dtype, cast.function, analysis) for each in given)
    return next((each for each in found if each), "")


def chosen_where(expr: ast.expr | None, dtype: Dtype, function: Function, analysis: Analysis) -> str:
    """Under which test an expression is of a dtype: the arm of a conditional expression, or one of several values."""
    frame = analysis.evaluator.root_frame(function)
    if isinstance(expr, ast.Name):
        bound = [each.expr for each in function.scope.names.get(expr.id, ())]
        ours = [each for each in bound if each is not None and dtype in analysis.dtype_values.of(each, frame)]
        if len(ours) != 1 or None in bound:
            return ""
        around = where(" and ".join(_around(Location(function, ours[0]), analysis))) if len(bound) > 1 else ""
        chosen = chosen_where(ours[0], dtype, function, analysis) if isinstance(ours[0], ast.IfExp) else ""
        return joined(chosen, around)
    if not isinstance(expr, ast.IfExp) or analysis.evaluator.truth(expr.test, frame) is not None:
        return ""
    in_body, in_other = (dtype in analysis.dtype_values.of(each, frame) for each in (expr.body, expr.orelse))
    if in_body is in_other:
        return ""
    inner = chosen_where(expr.body if in_body else expr.orelse, dtype, function, analysis)
    return joined(inner, where(_text(expr.test, in_body)))


def where(condition: str) -> str:
    """A condition as it stands behind a value."""
    text = " ".join(condition.split())
    return f"where `{text if len(text) <= _LONGEST else text[: _LONGEST - 3] + '...'}`" if text else ""


def where_on(enabled: ast.expr | None) -> str:
    """The condition that `enabled=` is; empty where it is a constant, or not there."""
    return where(ast.unparse(enabled)) if enabled is not None and not isinstance(enabled, ast.Constant) else ""


def _around(place: Location, analysis: Analysis) -> list[str]:
    """What holds at a place, outermost first; of a chain of `elif` only what holds in the last."""
    frame = analysis.evaluator.root_frame(place.function)
    return [
        _text(test, holds)
        for test, holds in reversed(list(_tests(place, analysis)))
        if analysis.evaluator.truth(test, frame) is None
    ]


def _tests(place: Location, analysis: Analysis) -> Iterator[tuple[ast.expr, bool]]:
    inner: ast.AST = place.node
    in_elif = False
    for each in analysis.enclosing.around(place.node, place.function):
        if isinstance(each.node, ast.If | ast.IfExp) and each.part != "test" and not is_script(each.node.test):
            holds = each.part == "body"
            is_chain = isinstance(each.node, ast.If) and each.node.orelse == [inner] and isinstance(inner, ast.If)
            if holds or not (in_elif and is_chain):
                yield each.node.test, holds
            in_elif = holds or (in_elif and is_chain)
        inner = each.node


def _text(test: ast.expr, holds: bool) -> str:
    text = ast.unparse(test)
    if holds:
        return f"({text})" if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or) else text
    return f"not {text}" if isinstance(test, ast.Name | ast.Attribute | ast.Call | ast.Subscript) else f"not ({text})"
