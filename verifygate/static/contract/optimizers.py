"""The dtype of an optimizer's state, where one with a small state is chosen among others."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.model.precision_contract import Aspect
from verifygate.static.analysis import Analysis
from verifygate.static.contract.conditions import ON_ONE_PATH, condition_at
from verifygate.static.contract.fact import Fact
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.values.domain import ExternalName, Value

_OF_TORCH = "torch.optim."


def chosen_beside(call: ast.Call, function: Function, analysis: Analysis) -> Iterator[Fact]:
    """What else is bound in a function to what an optimizer of a small state is bound to, or is called there."""
    frame = analysis.evaluator.root_frame(function)
    for value in analysis.evaluator.values(call.func, frame):
        if not _is_small(value):
            yield _of(value, ast.unparse(call.func), Location(function, call), ON_ONE_PATH)
    targets = _targets(call, function)
    for node in function.of_kind(ast.Assign) if targets else ():
        other = node.value
        if other is call or not isinstance(other, ast.Call) or targets.isdisjoint(map(ast.unparse, node.targets)):
            continue
        place = Location(function, other)
        for value in analysis.evaluator.values(other.func, frame):
            if not _is_small(value):
                yield _of(value, ast.unparse(other.func), place, condition_at(place, analysis))


def _of(value: Value, text: str, place: Location, condition: str) -> Fact:
    if isinstance(value, ExternalName) and value.name.startswith(_OF_TORCH):
        said = f"as the weights ({value.name.removeprefix('torch.')})"
        return Fact(
            aspect=Aspect.OPTIMIZER_STATE, value=said, path=place.path, line=place.line, condition=condition
        )  # fmt: skip
    gap = f"the dtypes that `{text}` keeps"
    return Fact(aspect=Aspect.OPTIMIZER_STATE, gap=gap, path=place.path, line=place.line)


def _is_small(value: Value) -> bool:
    return isinstance(value, ExternalName) and value.name.endswith(("8bit", "4bit"))


def _targets(call: ast.Call, function: Function) -> set[str]:
    return {
        ast.unparse(target) for node in function.of_kind(ast.Assign) if node.value is call for target in node.targets
    }
