"""Whose parameters a loss reaches: the modules that are called on the way to it."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable

import pytest

from verifygate.static.amp.gradient_flow import GradientFlow
from verifygate.static.analysis import Analysis

BODIES = {
    "loss = judge(maker(x)).mean()": ({"maker", "judge"}, {("maker", "judge")}),
    "loss = judge(maker(x).detach()).mean()": ({"judge"}, set()),
    "made = maker(x)\nloss = judge(made)": ({"maker", "judge"}, {("maker", "judge")}),
    "with torch.no_grad():\n    made = maker(x)\nloss = judge(made)": ({"judge"}, set()),
    "loss = maker(x)\nloss = judge(x)": ({"judge"}, set()),
    "if a:\n    loss = maker(x)\nelse:\n    loss = judge(x)": (set(), set()),
    "loss = maker(x)\nloss += judge(x)": ({"judge"}, set()),
    "loss = sum(maker(part) for part in x)": ({"maker"}, set()),
    "loss = maker(x) if a else maker(a)": ({"maker"}, set()),
    "outputs = maker(x)\nloss = outputs.loss": ({"maker"}, set()),
    "loss = helped(maker, x)": ({"maker"}, set()),
    "loss = frozen(maker, x)": (set(), set()),
    "with torch.autocast('cuda'):\n    loss = maker(x).item() * judge(x)": ({"judge"}, set()),
}
PROGRAM = """
import torch


def helped(network, x):
    made = network(x)
    return made.mean()


@torch.no_grad()
def frozen(network, x):
    return network(x)


def train(maker, judge, x, a):
"""


def flow(body: str, analysed: Callable[[str], Analysis]) -> GradientFlow:
    analysis = analysed(PROGRAM + textwrap.indent(body + "\nbackward(loss)", "    "))
    (module,) = analysis.modules
    function = module.functions["train"]
    loss = next(call.args[0] for call in function.calls if ast.unparse(call.func) == "backward")
    return analysis.roles.flows.of_loss(loss, analysis.evaluator.root_frame(function))


@pytest.mark.parametrize("body", BODIES)
def test_must_and_feeds(body: str, analysed: Callable[[str], Analysis]) -> None:
    found = flow(body, analysed)
    must, feeds = BODIES[body]
    assert {root.last_name for each in found.must for root in each.roots} == must
    pairs = {(one.last_name, other.last_name) for a, b in found.feeds for one in a.roots for other in b.roots}
    assert pairs == feeds


def test_may_holds_what_one_branch_reaches(analysed: Callable[[str], Analysis]) -> None:
    found = flow("if a:\n    loss = maker(x)\nelse:\n    loss = judge(x)", analysed)
    assert {root.last_name for each in found.may for root in each.roots} == {"maker", "judge"}
