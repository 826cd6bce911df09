"""Whose parameters an expression lists, and how two sets lie to each other."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable

import pytest

from verifygate.static.amp import parameter_sets
from verifygate.static.amp.parameter_sets import Overlap, ParameterSet
from verifygate.static.analysis import Analysis
from verifygate.static.symbols.program import Function
from verifygate.static.symbols.reaching_definitions import reaching
from verifygate.static.symbols.scopes import Binding
from verifygate.static.values.domain import Frame

PROGRAM = """
import itertools

import torch


def train(model, other, extra):
    encoder = model.encoder
    both = list(model.parameters()) + list(other.parameters())
    some = [p for p in model.parameters() if p.requires_grad]
    pair = torch.nn.Sequential(model, other)
    opt_all = torch.optim.SGD(model.parameters(), lr=0.1)
    opt_head = torch.optim.SGD([{"params": model.head.parameters()}], lr=0.1)
    current = opt_head
    current = opt_all
    other = torch.nn.parallel.DistributedDataParallel(other)
    use(current)
"""


IN_A_LOOP = """
def train(model, batches):
    for batch in batches:
        model = perturbed(model, 1)
        use(model)
        model = perturbed(model, -2)
        use(model)
        model = perturbed(model, 1)
        use(model.parameters())
"""


def test_wrappers_in_a_loop_are_looked_through_once_each(
    analysed: Callable[[str], Analysis], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of them reaches each: following every way through them would be three to the power of the depth."""
    analysis = analysed(IN_A_LOOP)
    (module,) = analysis.modules
    frame = analysis.evaluator.root_frame(module.functions["train"])
    (listed,) = (each for each in ast.walk(module.tree) if getattr(each, "attr", None) == "parameters")
    asked: list[ast.AST] = []

    def counting(name: str, at: ast.AST, function: Function) -> list[Binding] | None:
        asked.append(at)
        return reaching(name, at, function)

    monkeypatch.setattr(parameter_sets, "reaching", counting)
    found = analysis.roles.parameters.of_module(listed.value, frame)
    assert found is not None
    assert {each.root.name for each in found.roots} == {"model"}
    assert len(asked) <= 4


@pytest.fixture
def sets(analysed: Callable[[str], Analysis]) -> tuple[Analysis, Frame]:
    analysis = analysed(PROGRAM)
    (module,) = analysis.modules
    return analysis, analysis.evaluator.root_frame(module.functions["train"])


def listed(text: str, sets: tuple[Analysis, Frame]) -> ParameterSet | None:
    analysis, frame = sets
    return analysis.roles.parameters.of(ast.parse(text, mode="eval").body, frame)


@pytest.mark.parametrize(
    ("text", "roots", "is_whole"),
    [
        ("model.parameters()", {"model"}, True),
        ("model.module.parameters()", {"model"}, True),
        ("encoder.parameters()", {"encoder"}, True),
        ("both", {"model", "other"}, True),
        ("itertools.chain(model.parameters(), other.parameters())", {"model", "other"}, True),
        ("[*model.parameters(), extra]", {"model", "extra"}, True),
        ("some", {"model"}, False),
        ("filter(lambda p: p.requires_grad, model.parameters())", {"model"}, False),
        ("build(model)", None, None),
    ],
)
def test_of(text: str, roots: set[str] | None, is_whole: bool | None, sets: tuple[Analysis, Frame]) -> None:
    found = listed(text, sets)
    assert (found and {each.last_name for each in found.roots}) == roots
    assert (found and found.is_whole) == is_whole


@pytest.mark.parametrize(
    ("one", "other", "overlap"),
    [
        ("model.parameters()", "model.head.parameters()", Overlap.WITHIN),
        ("model.head.parameters()", "model.parameters()", Overlap.SOME),
        ("some", "model.parameters()", Overlap.SOME),
        ("model.parameters()", "other.parameters()", Overlap.NONE),
        ("both", "other.parameters()", Overlap.WITHIN),
        ("pair.parameters()", "model.parameters()", Overlap.SOME),
    ],
)
def test_overlap(one: str, other: str, overlap: Overlap, sets: tuple[Analysis, Frame]) -> None:
    first = listed(one, sets)
    assert first is not None
    assert first.overlap(listed(other, sets)) is overlap


@pytest.mark.parametrize(
    ("name", "roots"), [("opt_all", {"model"}), ("opt_head", {"model.head"}), ("current", {"model"})]
)
def test_of_optimizer(name: str, roots: set[str], sets: tuple[Analysis, Frame]) -> None:
    """A name that is bound several times is what reaches its use."""
    analysis, frame = sets
    used = next(call.args[0] for call in frame.function.calls if ast.unparse(call.func) == "use")
    expr = used if name == "current" else ast.Name(name, ast.Load())
    found = analysis.roles.parameters.of_optimizer(expr, frame)
    assert found is not None
    assert {each.without_home for each in found.roots} == roots


def test_a_wrapper_is_what_it_wraps(analysed: Callable[[str], Analysis]) -> None:
    text = """
        def train(model):
            before = model.parameters()
            model = Wrapped(model)
            after = model.parameters()
        """
    analysis = analysed(textwrap.dedent(text))
    (module,) = analysis.modules
    frame = analysis.evaluator.root_frame(module.functions["train"])
    first, second = (call for call in frame.function.calls if ast.unparse(call) == "model.parameters()")
    assert analysis.roles.parameters.of(first, frame) == analysis.roles.parameters.of(second, frame)
