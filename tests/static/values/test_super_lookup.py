"""Which method `super()` finds: that of the class that comes next in the order of the object's own class."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from verifygate.static.analysis import Analysis

DIAMOND = """
class Root:
    def run(self): return "root"
    def only(self): return "root"

class Left(Root):
    def run(self): return super().run()

class Right(Root):
    def run(self): return "right"

class Both(Left, Right):
    def run(self): return super().run()
    def jump(self): return super(Left, self).run()
    def inner(self):
        def call():
            return super(Both, self).only()
        return call()

class Mixin:
    def run(self): return super().run()

class Mixed(Mixin, Right):
    pass

class Plain:
    def run(self): return super().run()
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Left().run()", "root"),
        ("Both().run()", "right"),  # what Left calls `super()` is Right, on an object that is both
        ("Both().jump()", "right"),
        ("Both().inner()", "root"),
        ("Mixed().run()", "right"),
        ("Plain().run()", None),  # object has no such method
    ],
)
def test_super_finds(text: str, expected: str | None, analysed: Callable[[str], Analysis]) -> None:
    analysis = analysed(f"{DIAMOND}\nresult = {text}\n")
    scope: dict[str, object] = {}
    if expected is not None:
        exec(analysis.modules[0].file.data, scope)  # noqa: S102 - Python's own answer
        assert scope["result"] == expected
    frame = analysis.evaluator.module_frame(analysis.modules[0])
    values = analysis.evaluator.values(ast.parse("result", mode="eval").body, frame)
    assert [getattr(value, "value", None) for value in values] == [expected]


@pytest.mark.parametrize("name", ["Left", "Both", "Mixed"])
def test_classes_in_the_order_in_which_python_looks_names_up(name: str, analysed: Callable[[str], Analysis]) -> None:
    analysis = analysed(DIAMOND)
    (module,) = analysis.modules
    scope: dict[str, type] = {}
    exec(module.file.data, scope)  # type: ignore[arg-type]  # noqa: S102
    expected = [each.__name__ for each in scope[name].__mro__[:-1]]
    assert [each.symbol for each in analysis.evaluator.linearised(module.classes[name])] == expected
