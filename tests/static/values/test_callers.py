"""The call graph upwards: what the calls of a function pass to it."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from verifygate.static.analysis import Analysis

PROGRAM = """
def step(model, scale=1):
    leaf()

def leaf(): ...

def train(net):
    step(net)
    step(net, scale=2)
    other.step(net)

class Trainer:
    def fit(self):
        self.one(3)
        run = self.one
        run(4)

    def one(self, number):
        def inner():
            step(number)
        inner()

def recursive(n):
    recursive(n - 1)
"""


@pytest.mark.parametrize(
    ("symbol", "parameter", "expected"),
    [
        ("step", "model", ["net", "net", "number"]),
        ("step", "scale", ["2"]),  # the others leave it to the default
        ("Trainer.one", "number", ["3", "4"]),
        ("recursive", "n", []),  # a function that is being entered already is not entered again
        ("train", "net", []),
    ],
)
def test_what_the_calls_of_a_function_pass(
    symbol: str, parameter: str, expected: list[str], analysed: Callable[[str], Analysis]
) -> None:
    analysis = analysed(PROGRAM)
    function = analysis.modules[0].functions[symbol]
    given = [ast.unparse(bound.expr) for _, bound in analysis.call_graph.given(parameter, function)]
    assert sorted(given) == expected


@pytest.mark.parametrize(
    ("symbol", "expected"),
    [
        ("leaf", ["Trainer.fit", "Trainer.one", "Trainer.one.inner", "leaf", "step", "train"]),
        ("Trainer.one.inner", ["Trainer.fit", "Trainer.one", "Trainer.one.inner"]),
        ("train", ["train"]),
        ("recursive", ["recursive"]),
    ],
)
def test_everything_that_leads_to_a_function(
    symbol: str, expected: list[str], analysed: Callable[[str], Analysis]
) -> None:
    analysis = analysed(PROGRAM)
    above = analysis.call_graph.above(analysis.modules[0].functions[symbol])
    assert sorted(each.symbol for each in above) == expected


def test_each_call_site_once(analysed: Callable[[str], Analysis]) -> None:
    analysis = analysed(PROGRAM)
    sites = analysis.call_graph.sites(analysis.modules[0].functions["step"])
    assert [(site.caller.symbol, ast.unparse(site.call)) for site in sites] == [
        ("train", "step(net)"),
        ("train", "step(net, scale=2)"),
        ("Trainer.one.inner", "step(number)"),
    ]
