"""Access paths: two expressions that name one object have one path, and two objects have two."""

from __future__ import annotations

import ast

import pytest

from verifygate.sources.tree import SourceFile, Sources
from verifygate.static.symbols.program import Module, Program
from verifygate.static.values.access_paths import AccessPath, AccessPaths, Root, Step, variable
from verifygate.static.values.evaluator import Evaluator

PROGRAM = b"""
import torch
import other

LIMIT = settings.limit

class Trainer:
    def __init__(self, model, optimizer):
        self.model = model
        self.optimizer = optimizer
        self.other = torch.optim.SGD(model.parameters())

    def train(self, batch):
        own = self.optimizer
        self.step(own)

    def step(self, given):
        for each in self.groups:
            each

def main(model):
    optimizer = torch.optim.Adam(model.parameters())
    trainer = Trainer(model, optimizer)
    first, second = optimizer, model
    alias = optimizer
    table["a"].x
    table[key].y
    table[key]
    make(model).z
    for optimizer in optimizers:
        optimizer
    trainer.optimizer
    trainer.other
    {1: 2}
"""


@pytest.fixture(scope="module")
def module() -> Module:
    found = Program(Sources([SourceFile("train.py", PROGRAM)]), {"train.py": None}).module("train.py")
    assert found is not None
    return found


def path(text: str, symbol: str, module: Module) -> str:
    """The path of an expression at the root of a function."""
    program = Program(Sources([module.file]), {module.path: None})
    evaluator = Evaluator(program, [module])
    expr = ast.parse(text, mode="eval").body
    return str(AccessPaths(evaluator).of(expr, evaluator.root_frame(module.functions[symbol])))


@pytest.mark.parametrize(
    ("text", "symbol", "expected"),
    [
        ("model", "main", "train.py:main:model"),
        ("alias", "main", "train.py:main:optimizer"),
        ("first", "main", "train.py:main:optimizer"),
        ("second", "main", "train.py:main:model"),
        ("optimizer", "main", "train.py:main:optimizer"),  # bound twice: by a call, and by a loop
        ("own", "Trainer.train", "train.py:Trainer.__init__:optimizer"),
        ("self.optimizer", "Trainer.train", "train.py:Trainer.__init__:optimizer"),
        ("self.other", "Trainer.train", "<Trainer>.other"),
        ("each", "Trainer.step", "<Trainer>.groups[*]"),
        ("given", "Trainer.step", "train.py:Trainer.step:given"),
        ("table['a'].x", "main", "table['a'].x"),
        ("table[key].y", "main", "table[*].y"),
        ("make(model).z", "main", "make(train.py:main:model).z"),
        ("LIMIT", "main", "settings.limit"),
        ("other.rate", "main", "train.py::other.rate"),
        ("None", "main", "None"),
        ("print", "main", "print"),
        ("a + b", "main", "train.py:1:0"),
    ],
)
def test_an_expression_resolves_to(text: str, symbol: str, expected: str, module: Module) -> None:
    assert path(text, symbol, module) == expected


LOCAL = Root("local", "out", "train.py:main")
OUT = AccessPath(LOCAL)


@pytest.mark.parametrize(
    ("path", "other", "expected"),
    [
        (OUT, OUT, True),
        (OUT.attribute("loss"), OUT, True),
        (OUT.element("loss"), OUT, True),
        (OUT.any_element(), OUT, True),
        (OUT, OUT.attribute("loss"), False),
        (OUT.attribute("lossy"), OUT.attribute("loss"), False),
        (OUT.element("a"), OUT.element("b"), False),
        (OUT.called([]), OUT, False),
        (OUT.attribute("f").called([]).attribute("x"), OUT, True),
        (OUT.attribute("f").called([]).attribute("x"), OUT.attribute("f"), False),
        (OUT, AccessPath(Root("local", "out", "train.py:test")), False),
        (OUT, AccessPath(Root("outside", "out")), False),
    ],
)
def test_assigning_to_the_other_changes_what_a_path_names(path: AccessPath, other: AccessPath, expected: bool) -> None:
    assert path.is_below(other) is expected


def test_holders_lead_through_attributes_and_elements_but_not_through_calls() -> None:
    read = OUT.attribute("head").element(0).called([OUT]).attribute("loss")
    assert [str(each) for each in read.holders()] == [
        "train.py:main:out.head[0](train.py:main:out).loss",
        "train.py:main:out",
        "train.py:main:out.head",
        "train.py:main:out.head[0](train.py:main:out)",
    ]


@pytest.mark.parametrize(
    ("path", "last", "summary"),
    [
        (OUT, "out", False),
        (OUT.attribute("optim"), "optim", False),
        (OUT.attribute("optims").any_element(), "optims[*]", True),
        (OUT.any_element().attribute("optim"), "optim", True),
        (OUT.element("g"), "out['g']", False),
    ],
)
def test_last_name_and_summaries(path: AccessPath, last: str, summary: bool) -> None:
    assert (path.last_name, path.is_summary) == (last, summary)


def test_the_holder_of_a_wrapper_attribute(module: Module) -> None:
    model = variable(module.functions["main"], "model")
    assert model.attribute("module").without_last_attribute("module") == model
    assert model.attribute("modules").without_last_attribute("module") == model.attribute("modules")
    assert model.element("module").without_last_attribute("module").steps == (Step("element", "'module'"),)
