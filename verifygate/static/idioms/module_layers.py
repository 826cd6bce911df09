"""Enumerate the layers of a module: what a container holds, and what a class of the project keeps in its attributes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.base.records import record
from verifygate.static.amp.constructor_arguments import argument
from verifygate.static.analysis import Analysis
from verifygate.static.symbols.location import Location
from verifygate.static.values.domain import Bound, ExternalResult, Frame, Items, Object, Value

_CONTAINERS = frozenset({"torch.nn.Sequential", "torch.nn.ModuleList"})
_MAX_DEPTH = 12
"""Calls, lists and classes around a layer."""


@record(eq=False)
class Layer:
    """A layer of a library, and whether the module holds it whatever conditions come to."""

    made: ExternalResult
    sure: bool

    @property
    def place(self) -> Location:
        """The call that makes it."""
        call, frame = self.made.calls[-1]
        return Location(frame.function, call)

    def size(self, keyword: str, position: int, analysis: Analysis) -> int | None:
        """A whole number that its constructor is given; None where the source does not say it."""
        given = argument(self.made, keyword, position)
        number = analysis.constants.number(given.expr, given.frame) if given is not None else None
        return int(number) if number is not None and number == int(number) else None


def layers_of(expr: ast.expr, frame: Frame, analysis: Analysis) -> Iterator[Layer]:
    """The layers of the module that an expression stands for, in order, each by its constructor's call."""
    values = analysis.evaluator.values(expr, frame)
    for value in values:
        yield from _inside(value, Bound(expr, frame), len(values) == 1, analysis, ())


def _inside(
    value: Value, at: Bound, sure: bool, analysis: Analysis, around: tuple[Value | ast.AST, ...]
) -> Iterator[Layer]:
    if len(around) > _MAX_DEPTH:
        return
    match value:
        case ExternalResult(name=name) if name in _CONTAINERS:
            for call, frame in value.calls:
                for given in call.args:
                    yield from _of_expr(given, frame, sure, analysis, (*around, call))
        case ExternalResult() if value.calls:
            yield Layer(value, sure)
        case Items() if value not in around:  # a list that a loop puts into itself holds itself
            for element in value.elements:
                yield from _of_expr(element, value.frame, sure, analysis, (*around, value))
        case Object() if value.made.node not in around:
            yield from _of_object(value, at, sure, analysis, (*around, value.made.node))


def _of_expr(
    expr: ast.expr, frame: Frame, sure: bool, analysis: Analysis, around: tuple[Value | ast.AST, ...]
) -> Iterator[Layer]:
    match expr:
        case ast.Starred(value=inner):
            yield from _of_expr(inner, frame, sure, analysis, around)
        case ast.ListComp(elt=inner) | ast.GeneratorExp(elt=inner):
            yield from _of_expr(inner, frame, False, analysis, around)
        case _:
            values = analysis.evaluator.values(expr, frame)
            for value in values:
                yield from _inside(value, Bound(expr, frame), sure and len(values) == 1, analysis, around)


def _of_object(
    value: Object, at: Bound, sure: bool, analysis: Analysis, around: tuple[Value | ast.AST, ...]
) -> Iterator[Layer]:
    """What a module of the project keeps in attributes; one that a branch sets is not surely there."""
    for made in analysis.evaluator.linearised(value.made):
        for name, bindings in made.attributes.items():
            held = analysis.evaluator.attribute(value, name, at.expr, at.frame)
            plain = len(held) == 1 and len(bindings) == 1 and not _is_conditional(bindings[0], analysis)
            for each in held:
                yield from _inside(each, at, sure and plain, analysis, around)


def _is_conditional(bound: tuple[object, object], analysis: Analysis) -> bool:
    binding, owner = bound
    return owner is not None and bool(analysis.enclosing.conditions(binding.node, owner))  # type: ignore[attr-defined,arg-type]
