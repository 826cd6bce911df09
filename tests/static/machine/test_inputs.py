"""Inputs of functions that nobody calls: what they are by annotation, by use, and by name."""

from __future__ import annotations

import pytest
from run_text import MAIN, program_of

from verifygate.events.record import Kind
from verifygate.static.machine.libraries import LIBRARIES
from verifygate.static.machine.observations import Cast, Optimized
from verifygate.static.machine.programs import runs_of
from verifygate.static.machine.trace import Emitted
from verifygate.static.uses.roles import Evidence, Role

HEAD = "import torch\nfrom torch import nn\n"
LOOP = """
    for x in xs:
        loss = net(x).sum()
        {scale}.backward()
        {step}
"""


def events(text: str) -> list[Emitted]:
    """The events of all runs of `train.py`."""
    return [each for run in runs_of(program_of(HEAD + text), [MAIN], LIBRARIES) for each in run.events]


def evidence_of_steps(text: str) -> set[Evidence]:
    return {
        each.seen.evidence for each in events(text) if isinstance(each.seen, Optimized) and each.event.kind is Kind.STEP
    }


ALL = {Kind.SCALE, Kind.SCALER_STEP, Kind.STEP, Kind.UPDATE}
SCALED = LOOP.format(scale="{0}.scale(loss)", step="{0}.step({1})\n        {0}.update()")

HELPER = """
def helper(v2, v3, loss):
    v2.scale(loss).backward()
    v2.step(v3)
    v2.update()
def fit(net, xs, v0, v1):
    for x in xs:
        helper(v0, v1, net(x).sum())
"""


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        (
            "def fit(net, xs, v0, v1):" + SCALED.format("v0", "v1"),
            ALL,
        ),
        (
            "class Fit:\n  def __init__(self, v0, v1):\n    self.a, self.b = v0, v1\n  def run(self, net, xs):"
            + SCALED.format("self.a", "self.b"),
            ALL,
        ),
        (
            "def fit(net, xs, v0):" + SCALED.format("v0.one", "v0.two"),
            ALL,
        ),
        (HELPER, ALL),
        ("def fit(net, xs, v1):" + LOOP.format(scale="loss", step="v1.step()\n        v1.zero_grad()"), {Kind.STEP}),
        ("def fit(net, xs, v1):" + LOOP.format(scale="loss", step="v1.step()"), set()),  # a schedule steps as well
        ("def fit(net, xs, v1):\n    v1.scale(xs)", set()),
    ],
)
def test_a_role_is_found_by_use(text: str, kinds: set[Kind]) -> None:
    """Through fields of an object, attributes of an input, and calls, whatever it is called."""
    found = {each.event.kind for each in events(text)}
    assert found & ALL == kinds


def test_evidence_travels_with_the_value() -> None:
    step = LOOP.format(scale="loss", step="{0}.step()")
    assert evidence_of_steps("def fit(net, xs, v1: torch.optim.Optimizer):" + step.format("v1")) == {
        Evidence.ANNOTATION
    }
    assert evidence_of_steps("def fit(net, xs, v1):" + step.format("v1") + "        v1.zero_grad()\n") == {Evidence.USE}
    assert evidence_of_steps("def fit(net, xs, optimizer):" + step.format("optimizer")) == {Evidence.NAME}
    made = "def fit(net, xs):\n    v1 = torch.optim.SGD(net.parameters(), lr=0.1)\n"
    assert evidence_of_steps(made + step.format("v1")) == {Evidence.OBJECT}


def test_an_annotation_that_says_nothing_takes_no_role_away() -> None:
    text = "from typing import Any\ndef fit(net, xs, v1: Any):"
    step = LOOP.format(scale="loss", step="v1.step()\n        v1.zero_grad()")
    assert evidence_of_steps(text + step) == {Evidence.USE}


def test_a_model_is_one_by_its_parameters_and_a_cast_of_it_is_known() -> None:
    text = "def fit(v0):\n    v0.bfloat16()\n    torch.optim.AdamW(v0.parameters(), lr=1e-5).step()"
    found = [each.seen for each in events(text) if isinstance(each.seen, Optimized)]
    assert {weights.dtypes for each in found for weights in each.weights} == {frozenset({"bfloat16"})}


def test_methods_run_from_what_the_others_left() -> None:
    text = """
class Fit:
    def __init__(self):
        self.net = nn.Linear(2, 2)
    def back(self):
        self.net.float()
    def there(self):
        self.net.half()
"""
    backs = [each.seen for each in events(text) if isinstance(each.seen, Cast) and each.event.line == 8]
    assert any("float16" in weights.dtypes | weights.rounded for each in backs for weights in each.before)


def test_what_a_program_reaches_is_not_run_alone() -> None:
    text = "def fit(v1):\n    torch.optim.SGD(v1.parameters(), lr=0.1)\nfit(nn.Linear(2, 2))"
    runs = list(runs_of(program_of(HEAD + text), [MAIN], LIBRARIES))
    assert [str(run.outcome.entry) for run in runs] == [MAIN]


def test_roles_have_words() -> None:
    assert {each.value for each in Role} == {"scaler", "optimizer", "module"}
    assert all(any(library.input(role.value) for library in LIBRARIES) for role in Role)
