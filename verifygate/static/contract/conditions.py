"""Under which condition a line runs, in words: what is decided there holds in some runs only."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.static.analysis import Analysis
from verifygate.static.symbols.location import Location
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
        sites = [each for each in analysis.call_graph.sites(function) if not each.caller.module.file.is_test]
        if len(sites) != 1 or not function.symbol or sites[0].caller is function:
            break
        function, node = sites[0].caller, sites[0].call
    return where(" and ".join(tests))


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
