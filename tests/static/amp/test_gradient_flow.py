"""Whose parameters a loss reaches: the modules that are called on the way to it."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable

import pytest

from verifygate.static.amp.gradient_flow import GradientFlow
from verifygate.static.amp.parameter_sets import ParameterSet
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
import contextlib
import torch


def helped(network, x):
    made = network(x)
    return made.mean()


@torch.no_grad()
def frozen(network, x):
    return network(x)


@contextlib.contextmanager
def quiet():
    with torch.no_grad():
        yield


@contextlib.contextmanager
def perhaps(flag):
    if flag:
        with torch.no_grad():
            yield
    else:
        yield


def inside(network, x):
    with torch.no_grad():
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


OFF = {
    "with contextlib.ExitStack() as stack:\n    stack.enter_context(torch.no_grad())\n    made = maker(x)": False,
    "with quiet():\n    made = maker(x)": False,
    "made = inside(maker, x)": False,
    "with torch.set_grad_enabled(False):\n    made = maker(x)": False,
    "off = torch.inference_mode()\nwith off:\n    made = maker(x)": False,
    "with torch.set_grad_enabled(a):\n    made = maker(x)": None,
    "with perhaps(a):\n    made = maker(x)": None,
    "with contextlib.ExitStack() as stack:\n    if a:\n        stack.enter_context(torch.no_grad())\n"
    "    made = maker(x)": None,
    "torch.set_grad_enabled(a)\nmade = maker(x)": None,
    "with torch.inference_mode(False):\n    made = maker(x)": True,
    "with torch.no_grad(), torch.enable_grad():\n    made = maker(x)": True,
}


@pytest.mark.parametrize("body", OFF)
def test_autograd_mode_decides(body: str, analysed: Callable[[str], Analysis]) -> None:
    """Through the context, whatever enters it: the maker gets gradients, or none, or that depends."""
    found = flow(body + "\nloss = judge(made)", analysed)
    of_maker = ParameterSet(frozenset(root for each in found.may for root in each.roots if root.last_name == "maker"))
    reaches = found.reaches(of_maker) if of_maker.roots else False
    assert reaches is OFF[body]


def test_may_holds_what_one_branch_reaches(analysed: Callable[[str], Analysis]) -> None:
    found = flow("if a:\n    loss = maker(x)\nelse:\n    loss = judge(x)", analysed)
    assert {root.last_name for each in found.may for root in each.roots} == {"maker", "judge"}
