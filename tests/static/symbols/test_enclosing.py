"""Loops, conditions and contexts around a node; and the nodes and definitions of a body."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from verifygate.static.analysis import Analysis

PROGRAM = """
def f(xs):
    for epoch in range(3):
        if epoch:
            with no_grad(), autocast():
                while going:
                    here()
        else:
            there()
    else:
        behind()
    value = one() if chosen else other()
    for x in iterable():
        pass
    def inner():
        hidden()
    while asked():
        pass
    else:
        ended()
    if a:
        pass
    elif b:
        second()
    if __name__ == "__main__":
        script()
"""


@pytest.mark.parametrize(
    ("call", "loops", "conditions", "contexts"),
    [
        ("here", ["While", "For"], [("epoch", True)], ["autocast()", "no_grad()"]),
        ("there", ["For"], [("epoch", False)], []),
        ("behind", [], [], []),
        ("one", [], [("chosen", True)], []),
        ("other", [], [("chosen", False)], []),
        ("iterable", [], [], []),
        ("asked", ["While"], [], []),  # a condition is evaluated in each iteration
        ("ended", [], [], []),
        ("second", [], [("b", True), ("a", False)], []),
        ("script", [], [], []),
    ],
)
def test_what_encloses(
    call: str,
    loops: list[str],
    conditions: list[tuple[str, bool]],
    contexts: list[str],
    analysed: Callable[[str], Analysis],
) -> None:
    analysis = analysed(PROGRAM)
    function = analysis.modules[0].functions["f"]
    node = next(each for each in function.calls if ast.unparse(each.func) == call)
    assert [type(each).__name__ for each in analysis.enclosing.loops(node, function)] == loops
    found = [(ast.unparse(test), holds) for test, holds in analysis.enclosing.conditions(node, function)]
    assert found == conditions
    assert [ast.unparse(each) for each in analysis.enclosing.contexts(node, function)] == contexts


def test_own_nodes_leave_out_what_stands_in_inner_functions(analysed: Callable[[str], Analysis]) -> None:
    function = analysed(PROGRAM).modules[0].functions["f"]
    names = {ast.unparse(each.func) for each in function.calls}
    assert "hidden" not in names
    assert {"here", "there", "behind", "one", "other", "iterable"} <= names


def test_each_definition_has_a_symbol_of_its_own(analysed: Callable[[str], Analysis]) -> None:
    (module,) = analysed("def f(): pass\n\nif c:\n    def f(): pass\n\nclass A:\n    def f(self): pass\n").modules
    symbols = list(module.functions)
    assert len(symbols) == len(set(symbols)) == 3
    assert {"f", "A.f"} < set(symbols)
