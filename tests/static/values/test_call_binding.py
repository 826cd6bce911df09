"""What a call passes to parameters through functions that take anything and pass it on."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from verifygate.static.analysis import Analysis
from verifygate.static.values.call_binding import passes_on
from verifygate.static.values.domain import Frame

PROGRAM = """
OPTIONS = {"b": 20, "c": 30}

def target(a, b=2, *, c=3):
    inside(a, b, c)

def wrapper(*args, **kwargs):
    return target(*args, **kwargs)

def fixes_one(*args, **kwargs):
    return target(10, *args, **kwargs)

def drops_positional(*args, **kwargs):
    return target(**kwargs)

class Holder:
    def method(self, a, b=2): ...

    @classmethod
    def build(cls, a, b=2): ...

"""


def texts(frame: Frame) -> dict[str, str]:
    return {name: ast.unparse(bound.expr) for name, bound in frame.arguments.items()}


def entered(text: str, analysis: Analysis) -> Frame:
    function = analysis.modules[0].body
    (call,) = (each for each in function.calls if ast.unparse(each) == text)
    (frame,) = analysis.call_graph.entered(call, function)
    return frame


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("wrapper(1)", {"a": "1"}),
        ("wrapper(1, 4)", {"a": "1", "b": "4"}),
        ("wrapper(1, c=5)", {"a": "1", "c": "5"}),
        ("wrapper(a=1, b=4)", {"a": "1", "b": "4"}),
        ("wrapper(1, **OPTIONS)", {"a": "1", "b": "20", "c": "30"}),
        ("fixes_one(4)", {"a": "10", "b": "4"}),
        ("fixes_one(c=5)", {"a": "10", "c": "5"}),
        ("drops_positional(1, b=4)", {"b": "4"}),
    ],
)
def test_arguments_that_are_passed_on(text: str, expected: dict[str, str], analysed: Callable[[str], Analysis]) -> None:
    analysis = analysed(f"{PROGRAM}\n{text}\n")
    outer = entered(text, analysis)
    call = outer.function.calls[0]
    (callee,) = analysis.evaluator.callees(call, outer)
    inner = analysis.evaluator.enter(callee, call, outer)
    assert inner is not None
    assert texts(inner) == expected


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("target(1)", "a", {1}),
        ("target(1)", "b", {2}),  # the default
        ("target(1)", "c", {3}),
        ("target(1, 4)", "b", {4}),
        ("target(1, c=5)", "c", {5}),
        ("target(1, **OPTIONS)", "b", {20}),
    ],
)
def test_the_values_of_parameters(
    text: str, name: str, expected: set[int], analysed: Callable[[str], Analysis]
) -> None:
    analysis = analysed(f"{PROGRAM}\n{text}\n")
    frame = entered(text, analysis)
    use = next(each for each in ast.walk(frame.function.calls[0]) if isinstance(each, ast.Name) and each.id == name)
    assert {getattr(value, "value", "?") for value in analysis.evaluator.values(use, frame)} == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Holder().method(1)", {"a": "1"}),
        ("Holder().method(b=4, a=1)", {"b": "4", "a": "1"}),
        ("Holder.method(Holder(), 1)", {"self": "Holder()", "a": "1"}),
        ("Holder().build(1)", {"a": "1"}),
        ("Holder.build(1)", {"a": "1"}),
        ("Holder.build(1, 4)", {"a": "1", "b": "4"}),
    ],
)
def test_what_comes_before_the_arguments_of_a_method(
    text: str, expected: dict[str, str], analysed: Callable[[str], Analysis]
) -> None:
    analysis = analysed(f"{PROGRAM}\n{text}\n")
    assert texts(entered(text, analysis)) == expected


def test_a_call_enters_a_function_in_one_frame_whoever_asks(analysed: Callable[[str], Analysis]) -> None:
    """What one question found out in the frame is known to the next."""
    analysis = analysed(f"{PROGRAM}\ntarget(1)\ntarget(2)\nHolder().method(3)\n")
    frames = {text: entered(text, analysis) for text in ("target(1)", "target(2)", "Holder().method(3)")}

    assert all(entered(text, analysis) is frame for text, frame in frames.items())
    assert len(set(frames.values())) == 3


def test_each_iteration_of_a_loop_enters_a_function_in_a_frame_of_its_own(analysed: Callable[[str], Analysis]) -> None:
    analysis = analysed(f"{PROGRAM}\nfor each in (1, 2):\n    target(each)\n")
    (call,) = (each for each in analysis.modules[0].body.calls if ast.unparse(each) == "target(each)")
    home = analysis.evaluator.root_frame(analysis.modules[0].body)
    (callee,) = analysis.evaluator.callees(call, home)
    loop = analysis.modules[0].tree.body[-1]
    iterations = [home.in_iteration(loop, number, {}) for number in range(2)]

    assert len({analysis.evaluator.enter(callee, call, each) for each in (home, *iterations)}) == 3


@pytest.mark.parametrize(
    ("text", "does"), [("f(1, a=2)", False), ("f(*a)", True), ("f(**a)", True), ("f((1, 2), {})", False)]
)
def test_a_call_that_passes_the_elements_of_something(text: str, does: bool) -> None:
    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call)
    assert passes_on(call) is does
