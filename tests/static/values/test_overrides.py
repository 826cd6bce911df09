"""What subclasses fill in: methods without a body, and attributes that are set by name."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from verifygate.static.analysis import Analysis
from verifygate.static.values.overrides import MOST, Overrides, is_empty, is_left_open


@pytest.mark.parametrize(
    ("body", "empty", "left_open"),
    [
        ("pass", True, False),
        ("...", True, False),
        ("'''Says what to do.'''", True, False),
        ("raise NotImplementedError", True, True),
        ("raise NotImplementedError('fill it in')", True, True),
        ("log()\n        raise NotImplementedError", True, True),
        ("raise ValueError", False, False),
        ("return 1", False, False),
        ("log()", False, False),
    ],
)
def test_a_method_without_a_body(body: str, empty: bool, left_open: bool, analysed: Callable[[str], Analysis]) -> None:
    (module,) = analysed(f"class A:\n    def m(self):\n        {body}\n").modules
    method = module.functions["A.m"]
    assert (is_empty(method), is_left_open(method)) == (empty, left_open)


BASE = """
from abc import abstractmethod

class Base:
    def loss(self): raise NotImplementedError
    def log(self): print()
    @abstractmethod
    def step(self): ...

"""


@pytest.mark.parametrize(
    ("classes", "name", "expected"),
    [
        ("class A(Base):\n    def loss(self): return 1", "loss", ["A.loss"]),
        ("class A(Base):\n    def step(self): return 1", "step", ["A.step"]),
        ("class A(Base):\n    def log(self): return 1", "log", []),  # the base has one of its own
        ("class A:\n    def loss(self): return 1", "loss", []),
        ("class A(Base):\n    def loss(self): raise NotImplementedError", "loss", []),
        (
            "class A(Base):\n    def loss(self): return 1\nclass B(Base):\n    def loss(self): return 2",
            "loss",
            ["A.loss", "B.loss"],
        ),
        (  # only the next below: what B does is a matter of A
            "class A(Base):\n    def loss(self): return 1\nclass B(A):\n    def loss(self): return 2",
            "loss",
            ["A.loss"],
        ),
        ("class A(Base): pass\nclass B(A):\n    def loss(self): return 2", "loss", ["B.loss"]),
    ],
)
def test_the_methods_of_subclasses_that_fill_one_in(
    classes: str, name: str, expected: list[str], analysed: Callable[[str], Analysis]
) -> None:
    analysis = analysed(f"{BASE}{classes}\n")
    (module,) = analysis.modules
    frame = analysis.evaluator.root_frame(module.functions["Base.loss"])
    (this,) = analysis.evaluator.given_by(frame.function.scope.names["self"][0], frame)
    assert [each.symbol for each in Overrides(analysis.evaluator).of(this, name)] == expected


def test_of_too_many_subclasses_none_is_followed(analysed: Callable[[str], Analysis]) -> None:
    many = "\n".join(f"class A{each}(Base):\n    def loss(self): return 1" for each in range(MOST + 1))
    analysis = analysed(BASE + many)
    frame = analysis.evaluator.root_frame(analysis.modules[0].functions["Base.loss"])
    (this,) = analysis.evaluator.given_by(frame.function.scope.names["self"][0], frame)
    assert Overrides(analysis.evaluator).of(this, "loss") == ()


@pytest.mark.parametrize(
    ("text", "sets"),
    [
        ("class A:\n    def f(self, given):\n        for k, v in given.items(): setattr(self, k, v)", True),
        ("class A: pass\nclass B(A):\n    def f(self, given): vars(self).update(given)", True),
        ("class A:\n    def f(self): setattr(self, 'x', 1)", False),
        ("class A: x = 1", False),
    ],
)
def test_a_class_that_sets_attributes_by_names_of_no_source(
    text: str, sets: bool, analysed: Callable[[str], Analysis]
) -> None:
    analysis = analysed(text)
    assert Overrides(analysis.evaluator).sets_by_name(analysis.modules[0].classes["A"]) is sets
