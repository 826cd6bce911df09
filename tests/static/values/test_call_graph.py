"""Who calls whom, what `super()` finds, and which subclass methods stand in for an abstract one."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from verifygate.static.analysis import Analysis

PROGRAM = """
from abc import abstractmethod

class A:
    def run(self):
        return self.step()

    @abstractmethod
    def step(self): ...

    def log(self):
        pass

class Left(A):
    def step(self):
        helper()
        return "left"

class Right(A):
    def step(self):
        return super().log()

class Both(Left, Right):
    def log(self):
        super().log()

def helper(): pass

def main():
    Both().run()
    inner = lambda: helper()
    named = helper
    named()
"""


@pytest.mark.parametrize(
    ("call", "caller", "expected"),
    [
        ("helper()", "Left.step", ["helper"]),
        ("named()", "main", ["helper"]),
        ("self.step()", "A.run", ["A.step", "Left.step", "Right.step"]),
        ("Both().run()", "main", ["A.run"]),
        ("super().log()", "Right.step", ["A.log"]),
        ("super().log()", "Both.log", ["A.log"]),
        ("Both()", "main", []),
    ],
)
def test_a_call_may_run(call: str, caller: str, expected: list[str], analysed: Callable[[str], Analysis]) -> None:
    analysis = analysed(PROGRAM)
    function = analysis.modules[0].functions[caller]
    node = next(each for each in function.calls if ast.unparse(each) == call)
    assert sorted(callee.symbol for callee in analysis.call_graph.callees(node, function)) == expected


def test_callers_and_their_callers(analysed: Callable[[str], Analysis]) -> None:
    analysis = analysed(PROGRAM)
    functions = analysis.modules[0].functions
    sites = analysis.call_graph.sites(functions["helper"])
    assert sorted(site.caller.symbol for site in sites) == ["Left.step", "main"]
    above = {each.symbol for each in analysis.call_graph.above(functions["helper"])}
    assert {"helper", "Left.step", "A.run", "main"} <= above
    assert "Both.log" not in above


def test_the_order_of_base_classes(analysed: Callable[[str], Analysis]) -> None:
    analysis = analysed(PROGRAM)
    classes = analysis.modules[0].classes
    order = [made.symbol for made in analysis.evaluator.linearised(classes["Both"])]
    assert order[0] == "Both"
    assert set(order) == {"Both", "Left", "Right", "A"}
    assert {made.symbol for made in analysis.evaluator.below(classes["A"])} == {"A", "Left", "Right", "Both"}
