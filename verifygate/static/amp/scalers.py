"""Allocation sites of scalers: each call that builds a GradScaler, or a subclass of it, and its `enabled` argument."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from verifygate import torch_names
from verifygate.base.records import record, replace
from verifygate.static.amp.constructor_arguments import scaler_enabled
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Class, Function, Module
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import Bound, ClassValue, ExternalName, ExternalResult, called
from verifygate.static.values.evaluator import Evaluator

_GIVEN_TO = re.compile(rb"(\w+)[ \t]*(?::[^=]*)?=(?!=)")
_NAME = b"GradScaler"


@record(eq=False)
class ScalerAllocation:
    """One call that builds a GradScaler, or an object of a subclass."""

    call: ast.Call
    function: Function
    enabled: Bound | None
    """The argument `enabled`; None for the default, which is True."""
    off: bool
    """`enabled` is False in every configuration."""
    sharded: bool = False
    steps: bool = False
    """An object of a library that owns a scaler: calling it scales, steps and updates."""
    field_of: Class | None = None
    """The class that builds it as the default of a field."""

    @property
    def owner(self) -> Class | None:
        """The class whose instances build it."""
        return self.field_of or self.function.owner

    @property
    def place(self) -> Location:
        return Location(self.function, self.call)


def scaler_allocations(evaluator: Evaluator, modules: list[Module]) -> list[ScalerAllocation]:
    """The allocation sites in some modules, in source order."""
    found = _allocations(evaluator, modules)
    return sorted(found, key=lambda each: (each.place.path, each.place.line, each.place.column))


def some_scaler_is_on(evaluator: Evaluator, modules: list[Module]) -> bool:
    """Whether some modules build a scaler that is not off: the files that name one come first."""
    first = sorted(modules, key=lambda module: not module.mentions(_NAME))
    return any(not each.off for each in _allocations(evaluator, first))


def _allocations(evaluator: Evaluator, modules: list[Module]) -> Iterator[ScalerAllocation]:
    kept = {name for module in modules for name in _holding_the_class(module.file.data)}
    for module in modules:
        if b"caler" not in module.file.data and b"amp" not in module.file.data:
            continue
        for function in module.all_functions:
            for node in function.calls:
                if _may_make(node.func, kept) and (made := _made(node, function, evaluator)):
                    yield made
        for each in module.classes.values():
            fields = (_made(node, module.body, evaluator) for node in _in_fields(each))
            yield from (replace(made, field_of=each) for made in fields if made)


def _holding_the_class(data: bytes) -> Iterator[str]:
    """Names that the class itself is assigned to, to be called later: `self.make = partial(GradScaler, "cuda")`."""
    at = data.find(_NAME)
    while at != -1:
        end = at + len(_NAME)
        start = data.rfind(b"\n", 0, at) + 1
        given = _GIVEN_TO.search(data, start, at) if data[end : end + 1] != b"(" else None
        if given is not None:
            yield given[1].decode()
        at = data.find(_NAME, end)


def _may_make(func: ast.expr, kept: set[str]) -> bool:
    """Whether a call may be a constructor call: not `x.view(...)`, unless a scaler's class is assigned to that name.

    A filter by name: to evaluate `x` takes long, and most calls are of methods.
    """
    if not isinstance(func, ast.Attribute):
        return True
    return func.attr[:1].isupper() or "caler" in func.attr or func.attr in kept


def _in_fields(made: Class) -> Iterator[ast.Call]:
    """The calls in a class body, and those that a `default_factory` of a dataclass field makes."""
    for node in made.own_nodes:
        if isinstance(node, ast.Call):
            yield node
            factories = [word.value for word in node.keywords if word.arg == "default_factory"]
            for factory in factories:
                inside = factory.body if isinstance(factory, ast.Lambda) else called(factory)
                yield from (each for each in walk(inside) if isinstance(each, ast.Call))


def _made(call: ast.Call, function: Function, evaluator: Evaluator) -> ScalerAllocation | None:
    frame = evaluator.root_frame(function)
    for value in evaluator.values(call.func, frame):
        if isinstance(value, ExternalName) and value.name in torch_names.GRAD_SCALERS:
            enabled = scaler_enabled(ExternalResult(value.name, ((call, frame),)))
            off = enabled is not None and evaluator.truth(enabled.expr, enabled.frame) is False
            return ScalerAllocation(call, function, enabled, off, "Sharded" in value.name)
        if isinstance(value, ExternalName) and value.name in torch_names.STEPPING_SCALERS:
            return ScalerAllocation(call, function, None, off=False, steps=True)
        if isinstance(value, ClassValue):
            bases = evaluator.outside_bases(value.made) & torch_names.GRAD_SCALERS
            if bases:
                return ScalerAllocation(call, function, None, False, any("Sharded" in base for base in bases))
    return None
