"""The values of expressions, the truth of conditions, and what a call binds and runs."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from verifygate.static.analysis import Analysis
from verifygate.static.values import demand
from verifygate.static.values.domain import (
    UNKNOWN,
    ClassValue,
    DictLiteral,
    ExternalName,
    ExternalResult,
    Frame,
    FunctionValue,
    Items,
    Literal,
    ModuleValue,
    Object,
    Value,
)

PROGRAM = """
import torch
import torch.nn as nn
from torch.amp import GradScaler as Scaler
from functools import partial

WIDTH = 3
FLAG = True
TABLE = {"a": 1, "b": two}

class Base:
    kind = "base"

    def name(self):
        return "base"

    @property
    def size(self):
        return 7

    @staticmethod
    def make():
        return "made"

class Child(Base):
    def __init__(self, width):
        self.width = width

    def name(self):
        return super().name()

def double(x, *, by=2):
    return x

def f(given, choice):
    local = WIDTH
    child = Child(5)
    scaler = Scaler("cuda")
    either = 1 if choice else 2
    build = partial(torch.optim.SGD, lr=0.1)
    pass
"""


def shown(value: Value) -> object:
    match value:
        case Literal():
            return value.value
        case ExternalName() | ExternalResult():
            return f"{type(value).__name__} {value.name}"
        case FunctionValue():
            return f"function {value.function.symbol}"
        case ClassValue() | Object():
            return f"{type(value).__name__} {value.made.symbol}"
        case ModuleValue():
            return f"module {value.module.path}"
        case Items() | DictLiteral():
            return type(value).__name__
    return "?" if value is UNKNOWN else type(value).__name__


@pytest.fixture
def frame(analysed: Callable[[str], Analysis]) -> tuple[Analysis, Frame]:
    analysis = analysed(PROGRAM)
    return analysis, analysis.evaluator.root_frame(analysis.modules[0].functions["f"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", [1]),
        ("WIDTH", [3]),
        ("local", [3]),
        ("given", ["?"]),
        ("either", [1, 2]),
        ("1 if True else 2", [1]),
        ("1 if not True else 2", [2]),
        ("None or 4", [4]),
        ("3 or 4", [3, 4]),  # the last operand is always kept
        ("3 and 4", [4]),
        ("print", ["ExternalName builtins.print"]),
        ("nn.Linear", ["ExternalName torch.nn.Linear"]),
        ("nn.Linear(1, 2)", ["ExternalResult torch.nn.Linear"]),
        ("Scaler", ["ExternalName torch.amp.GradScaler"]),
        ("scaler", ["ExternalResult torch.amp.GradScaler"]),
        ("Child", ["ClassValue Child"]),
        ("child", ["Object Child"]),
        ("child.width", [5]),  # by the call that allocates it
        ("child.kind", ["base"]),
        ("child.size", [7]),
        ("child.name", ["function Child.name"]),
        ("child.name()", ["base"]),
        ("Child.make()", ["made"]),
        ("double", ["function double"]),
        ("double(9)", [9]),
        ("double(x=8)", [8]),
        ("build()", ["ExternalResult torch.optim.SGD"]),
        ("(1, 2)", ["Items"]),
        ("(1, 2)[1]", [2]),
        ("[5, 6][1]", [6]),
        ("[5, 6][-1]", ["?"]),
        ("{'k': 1}", ["DictLiteral"]),
        ("TABLE['a']", [1]),
        ("(lambda: 1)()", [1]),
        ("nn.Linear(1, 2).cuda()", ["ExternalResult torch.nn.Linear"]),
    ],
)
def test_values(text: str, expected: list[object], frame: tuple[Analysis, Frame]) -> None:
    analysis, home = frame
    found = [shown(value) for value in analysis.evaluator.values(ast.parse(text, mode="eval").body, home)]
    assert sorted(found, key=str) == sorted(expected, key=str)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("FLAG", True),
        ("not FLAG", False),
        ("FLAG and given", None),
        ("FLAG or given", True),
        ("not FLAG and given", False),
        ("WIDTH == 3", True),
        ("WIDTH != 3", False),
        ("WIDTH == 4", False),
        ("given == 3", None),
        ("None is None", True),
        ("scaler is None", False),
        ("scaler is not None", True),
        ("given is None", None),
        ("1 == 1.0", True),
        ("True != 1", False),
        ("1 is 1.0", False),
        ("scaler", True),
        ("0", False),
        ("either == 1", None),
        ("either == 3", False),
    ],
)
def test_truth(text: str, expected: bool | None, frame: tuple[Analysis, Frame]) -> None:
    analysis, home = frame
    assert analysis.evaluator.truth(ast.parse(text, mode="eval").body, home) is expected


def test_the_memo_does_not_answer_for_a_node_that_is_gone(frame: tuple[Analysis, Frame]) -> None:
    """A node that was made on the spot and freed leaves its address to another: that one has a value of its own."""
    analysis, home = frame
    for number in range(2000):
        node = ast.Constant(number)
        assert [shown(value) for value in analysis.evaluator.values(node, home)] == [number]
        del node


CALLS = {
    "g(1, 2)": {"a": "1", "b": "2"},
    "g(1, b=2)": {"a": "1", "b": "2"},
    "g(b=2, a=1)": {"a": "1", "b": "2"},
    "g(*(1, 2))": {"a": "1", "b": "2"},
    "g(1, *(2,))": {"a": "1", "b": "2"},
    "g(1, **{'b': 2})": {"a": "1", "b": "2"},
    "g(1)": {"a": "1"},
    "g(1, *given)": {"a": "1"},
    "g(1, 2, 3)": {"a": "1", "b": "2"},
    "g(1, nothing=2)": {"a": "1"},
    "h(1, 2, 3, k=4, other=5)": {"a": "1", "*0": "2", "*1": "3", "k": "4", "other": "5"},
    "h(1, **{'k': 4})": {"a": "1", "k": "4"},
    "T().m(1)": {"x": "1"},
    "T.s(1)": {"x": "1"},
    "T(1)": {"first": "1"},
}


@pytest.mark.parametrize("text", CALLS)
def test_a_call_binds(text: str, analysed: Callable[[str], Analysis]) -> None:
    """Actuals to formals, as Python binds them; what `*args` and `**kwargs` take lies beside the parameters."""
    analysis = analysed(
        f"""
        def g(a, b=None): pass
        def h(a, *rest, k=None, **more): pass
        class T:
            def __init__(self, first=None): pass
            def m(self, x): pass
            @staticmethod
            def s(x): pass
        def f(given):
            {text}
        """
    )
    function = analysis.modules[0].functions["f"]
    home = analysis.evaluator.root_frame(function)
    call = function.node.body[0].value
    (callee,) = analysis.evaluator.callees(call, home)
    entered = analysis.evaluator.enter(callee, call, home)
    assert entered is not None
    assert {name: ast.unparse(bound.expr) for name, bound in entered.arguments.items()} == CALLS[text]


CIRCLES = {
    "an element that a comprehension makes": """
def main(model, prompts):
    for _ in range(2):
        if prompts:
            x = model
        else:
            parts = [encode(each, x) for each in ("a", "b")]
            x = parts[0]
        use(x)


def encode(text, given):
    return given
""",
    "an element that a loop puts in": """
def main(model, prompts):
    for _ in range(2):
        parts = []
        for each in ("a", "b"):
            parts.append(encode(each, x))
        x = parts[0] if prompts else model
        use(x)


def encode(text, given):
    return given
""",
}


@pytest.mark.parametrize("source", CIRCLES.values(), ids=CIRCLES)
def test_names_that_are_bound_in_circles_end_without_any_limit(
    source: str, analysed: Callable[[str], Analysis], monkeypatch: pytest.MonkeyPatch
):
    """An iteration has one frame, whoever enters it: evaluation comes back to where it was, and sees that it does."""
    monkeypatch.setattr(demand, "MAX_STEPS", 10**9)
    monkeypatch.setattr(demand, "MAX_DEPTH", 10**9)
    analysis = analysed(source)
    (module,) = analysis.modules
    main = module.functions["main"]
    (call,) = (each for each in main.calls if ast.unparse(each.func) == "use")

    assert UNKNOWN in analysis.evaluator.values(call.args[0], analysis.evaluator.root_frame(main))


def test_values_that_are_the_same_are_held_once(analysed: Callable[..., Analysis]) -> None:
    analysis = analysed("import torch\n\ndef f(x):\n    made = g(x)\n    return made, torch.float16, torch.float16\n")
    function = analysis.modules[0].functions["f"]
    frame = analysis.evaluator.root_frame(function)
    made, one, other = (analysis.evaluator.values(each, frame) for each in function.returns[0].elts)  # type: ignore[attr-defined]

    assert one is other
    (call,) = function.calls
    assert made is analysis.evaluator.values(call, frame)


def test_a_frame_of_which_nothing_is_known_holds_no_dicts_for_it(analysed: Callable[..., Analysis]) -> None:
    function = analysed("def f(x): ...\n").modules[0].functions["f"]
    one, other = Frame(function), Frame(function)
    assert one.callees is other.callees

    one.noted("callees")[ast.Call()] = ()

    assert len(one.callees) == 1
    assert not other.callees
    one.forget()
    assert not one.callees
