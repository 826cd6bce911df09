"""Objects are known by where they are made, in their calling context, and by the name that reaches a use."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from verifygate.static.analysis import Analysis
from verifygate.static.values.access_paths import AccessPath
from verifygate.static.values.contents import reads
from verifygate.static.values.domain import Frame, Literal

PROGRAM = """
import torch


class Trainer:
    def __init__(self, optimizer, size):
        self.optimizer = optimizer
        self.size = size


def main(a, b, key):
    of_a, of_b = torch.optim.SGD(a.parameters()), torch.optim.SGD(b.parameters())
    first = Trainer(of_a, 1)
    second = Trainer(of_b, 2)
    either = first if key else second
    current = of_a
    one(current)
    current = of_b
    two(current)
    tools = {"a": of_a, "b": of_b}
    listed = [of_a, of_b]
    grown = [of_a]
    grown.append(of_b)
    made = [torch.optim.SGD(a.parameters()), torch.optim.SGD(b.parameters())]
"""


@pytest.fixture
def home(analysed: Callable[[str], Analysis]) -> tuple[Analysis, Frame]:
    analysis = analysed(PROGRAM)
    (module,) = analysis.modules
    return analysis, analysis.evaluator.root_frame(module.functions["main"])


def parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def path(text: str, home: tuple[Analysis, Frame]) -> AccessPath:
    analysis, frame = home
    return analysis.roles.object(parsed(text), frame)


@pytest.mark.parametrize(("text", "size"), [("first.size", 1), ("second.size", 2)])
def test_attributes_of_two_objects_of_a_class(text: str, size: int, home: tuple[Analysis, Frame]) -> None:
    analysis, frame = home
    assert analysis.evaluator.values(parsed(text), frame) == (Literal(size),)


def test_one_of_two_objects_may_have_either(home: tuple[Analysis, Frame]) -> None:
    analysis, frame = home
    assert {Literal(1), Literal(2)} <= set(analysis.evaluator.values(parsed("either.size"), frame))


def test_paths_lead_to_the_object(home: tuple[Analysis, Frame]) -> None:
    assert path("first.optimizer", home) is path("of_a", home)
    assert path("second.optimizer", home) is path("of_b", home)
    assert path("first", home) is not path("second", home)


def test_a_variable_is_what_reaches_its_use(home: tuple[Analysis, Frame]) -> None:
    analysis, frame = home
    used = {ast.unparse(call.func): call.args[0] for call in frame.function.calls if call.args}
    assert analysis.roles.object(used["one"], frame) is path("of_a", home)
    assert analysis.roles.object(used["two"], frame) is path("of_b", home)
    assert analysis.roles.path(used["one"], frame) is analysis.roles.path(used["two"], frame)


def elements(text: str, home: tuple[Analysis, Frame]) -> list[str]:
    analysis, frame = home
    held = analysis.evaluator.containers.of(parsed(text), frame)
    return [ast.unparse(each.expr) for each in reads(held)] if held is not None else []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("listed", ["of_a", "of_b"]),
        ("reversed(listed)", ["of_b", "of_a"]),
        ("tools.values()", ["of_a", "of_b"]),
        ("made", ["made[0]", "made[1]"]),
        ("grown", ["of_a", "of_b"]),
        ("unknown", []),
        ("[of_a, *listed]", ["of_a", "of_a", "of_b"]),
    ],
)
def test_elements_of_a_sequence(text: str, expected: list[str], home: tuple[Analysis, Frame]) -> None:
    assert elements(text, home) == expected


def test_elements_of_a_mapping(home: tuple[Analysis, Frame]) -> None:
    analysis, frame = home
    held = analysis.evaluator.containers.of(parsed("tools"), frame)
    assert held is not None
    assert held.keys == ("a", "b")
    assert [ast.unparse(each.expr) for each in held.elements] == ["of_a", "of_b"]
