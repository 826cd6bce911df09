"""Path conditions: what holds at a point, whether two points may lie on one path, and which functions are pure."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from verifygate.static.analysis import Analysis
from verifygate.static.conditions import path_conditions
from verifygate.static.conditions.purity import question
from verifygate.static.symbols.location import Location

PROGRAM = """
def f(amp, cuda, last):
    if amp:
        scaled()
    else:
        plain()
    if not amp:
        later_plain()
    if amp and cuda:
        both()
    if not last:
        return
    behind()
    assert cuda
    asserted()

def g(amp):
    if amp:
        first()
    amp = False
    if not amp:
        second()
"""


def place(call: str, symbol: str, analysis: Analysis) -> Location:
    function = analysis.modules[0].functions[symbol]
    return Location(function, next(each for each in function.calls if ast.unparse(each) == f"{call}()"))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("scaled", "plain", False),
        ("scaled", "later_plain", False),
        ("plain", "later_plain", True),
        ("both", "scaled", True),
        ("both", "later_plain", False),
        ("behind", "scaled", True),
    ],
)
def test_two_points_may_lie_on_one_path(
    one: str, other: str, expected: bool, analysed: Callable[[str], Analysis]
) -> None:
    analysis = analysed(PROGRAM)
    assert analysis.path_conditions.agree(place(one, "f", analysis), place(other, "f", analysis)) is expected
    assert analysis.path_conditions.agree(place(other, "f", analysis), place(one, "f", analysis)) is expected


def test_a_condition_ends_where_its_variable_is_assigned(analysed: Callable[[str], Analysis]) -> None:
    analysis = analysed(PROGRAM)
    assert analysis.path_conditions.agree(place("first", "g", analysis), place("second", "g", analysis))


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("scaled", [("amp", True)]),
        ("plain", [("amp", False)]),
        ("later_plain", [("amp", False)]),
        ("both", [("amp", True), ("cuda", True)]),
        ("behind", [("last", True)]),
        ("asserted", [("last", True), ("cuda", True)]),
    ],
)
def test_what_holds_at_a_point(
    call: str, expected: list[tuple[str, bool]], analysed: Callable[[str], Analysis]
) -> None:
    analysis = analysed(PROGRAM)
    leaves = analysis.path_conditions.leaves(place(call, "f", analysis))
    assert sorted((ast.unparse(test), holds) for test, holds in leaves) == sorted(expected)


@pytest.mark.parametrize(
    ("body", "pure"),
    [
        ("return x.amp", True),
        ("y = x.amp\n    return y and x.cuda", True),
        ("if x:\n        return True\n    return False", True),
        ("assert x\n    return x.amp", True),
        ("x.count += 1\n    return x.count", False),
        ("x.amp = False\n    return x.amp", False),
        ("return x.read()", False),
        ("return [y for y in x]", False),
        ("print(x)\n    return x", True),
        ("print(x.read())\n    return x", False),
        ("pass", False),
    ],
)
def test_a_function_only_computes_a_predicate(body: str, pure: bool, analysed: Callable[[str], Analysis]) -> None:
    analysis = analysed(f"def p(x):\n    {body}\n\ndef f(x):\n    p(x)\n")
    function = analysis.modules[0].functions["f"]
    frame = analysis.evaluator.root_frame(function)
    assert (question(function.calls[0], frame, analysis.roles) is not None) is pure


def test_what_holds_at_a_place_is_worked_out_once(
    analysed: Callable[..., Analysis], monkeypatch: pytest.MonkeyPatch
) -> None:
    analysis = analysed(PROGRAM)
    one, other = (place(call, "f", analysis) for call in ("scaled", "plain"))
    assert not analysis.path_conditions.agree(one, other)
    monkeypatch.delattr(path_conditions, "fact_of")

    assert not analysis.path_conditions.agree(other, one)
