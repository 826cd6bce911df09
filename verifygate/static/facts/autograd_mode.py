"""Autograd mode: whether code runs with autograd off, by its contexts, by decorators, and by its callers."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from enum import StrEnum

from verifygate.static.facts.hot_loops import HotLoops
from verifygate.static.symbols.program import Function
from verifygate.static.symbols.sites import ProgramPoint, calm, turns_autograd_off
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.call_graph import CallGraph, Site
from verifygate.static.values.domain import (
    ClassValue,
    ExternalName,
    ExternalResult,
    Frame,
    FunctionValue,
    Object,
    Partial,
    Value,
)
from verifygate.static.values.evaluator import Evaluator

_KEEPS_AUTOGRAD = frozenset(
    {"torch", "builtins", "functools", "contextlib", "abc", "typing", "typing_extensions", "pytest", "hydra", "click"}
)
"""Packages whose decorators, but for those of `_OFF`, leave autograd as it is."""
_OFF = ("torch.no_grad", "torch.inference_mode", "torch.autograd.no_grad", "torch.autograd.inference_mode")

_DEPTH = 2
"""Decorators that hand on what another function of the project makes are followed this deep."""


class CallerMode(StrEnum):
    """What the callers of a function do about autograd."""

    ON = "on"
    """All of them are known, and none turns it off."""
    MIXED = "mixed"
    """Some turn it off."""
    OFF = "off"
    """All of them do."""
    UNKNOWN = "unknown"
    """No caller is known, or not every one up to the body of a module."""


def is_off(point: ProgramPoint, evaluator: Evaluator) -> bool:
    """Whether autograd is off, or may be, at a program point as far as its own function tells."""
    return (
        point.without_gradients
        or any(_enters(each, point.function, evaluator) for each in point.contexts)
        or decorated(point.function, evaluator) is Decorated.OFF
    )


class Decorated(StrEnum):
    """What the decorators of a function do about autograd."""

    OFF = "off"
    """One of them turns it off, or may."""
    KEPT = "kept"
    UNKNOWN = "unknown"
    """One of them is not followed."""


def decorated(function: Function, evaluator: Evaluator) -> Decorated:
    """What the decorators of a function do about autograd, also those of the project."""
    home = function.enclosing
    frame = evaluator.root_frame(home) if home else evaluator.module_frame(function.module)
    decorators = getattr(function.node, "decorator_list", ())
    return _strongest({_applied(each, frame, evaluator) for each in decorators})


def _strongest(found: set[Decorated]) -> Decorated:
    return next((each for each in (Decorated.OFF, Decorated.UNKNOWN) if each in found), Decorated.KEPT)


def _applied(decorator: ast.expr, frame: Frame, evaluator: Evaluator) -> Decorated:
    """What one decorator does: of a function or class of the project, by what it enters and what it hands back."""
    if turns_autograd_off(decorator):
        return Decorated.OFF
    found = {_of_value(value, evaluator) for value in evaluator.values(decorator, frame)}
    if not isinstance(decorator, ast.Call):
        return _strongest(found)
    made = _strongest({_of_value(value, evaluator) for value in evaluator.values(decorator.func, frame)})
    return Decorated.OFF if Decorated.OFF in found else made  # what makes it is looked at with all that is inside it


def _of_value(value: Value, evaluator: Evaluator) -> Decorated:
    match value:
        case FunctionValue():
            return _of_function(value.function, evaluator, _DEPTH)
        case Object() | ClassValue():
            own = {_of_function(each, evaluator, _DEPTH) for each in value.made.methods.values()}
            return Decorated.OFF if Decorated.OFF in own else Decorated.UNKNOWN
        case ExternalName() | ExternalResult() | Partial() if value.name in _OFF:
            return Decorated.OFF
        case ExternalName() | ExternalResult() if value.name.partition(".")[0] in _KEEPS_AUTOGRAD:
            return Decorated.KEPT
    return Decorated.UNKNOWN


def _of_function(decorator: Function, evaluator: Evaluator, depth: int) -> Decorated:
    """Whether a decorator, or a function inside it, calls what it decorates with autograd off, or hands back such."""
    inside = [each for each in decorator.module.beside(decorator) if _is_inside(each, decorator)]
    taken = {parameter.arg for each in inside for parameter in each.parameters}
    for each in inside:
        entered = (block for block in each.withs if any(turns_autograd_off(item.context_expr) for item in block.items))
        if calm(each) or any(_calls_one_of(taken, block) for block in entered):
            return Decorated.OFF
        given = [*each.returns, *(node.value for node in each.of_kind(ast.Assign))]
        if any(isinstance(node, ast.Call) and turns_autograd_off(node.func) for expr in given for node in walk(expr)):
            return Decorated.OFF
        handed_on = [node for node in each.returns if isinstance(node, ast.Call)] if depth else []
        for call in handed_on:
            for callee in evaluator.callees(call, evaluator.root_frame(each)):
                if _of_function(callee.function, evaluator, depth - 1) is Decorated.OFF:
                    return Decorated.OFF
    return Decorated.KEPT


def _calls_one_of(names: set[str], block: ast.stmt) -> bool:
    called = (node.func for node in walk(block) if isinstance(node, ast.Call))
    return any(isinstance(each, ast.Name) and each.id in names for each in called)


def _is_inside(function: Function | None, outer: Function) -> bool:
    while function is not None and function is not outer:
        function = function.enclosing
    return function is outer


def _enters(context: ast.expr, function: Function, evaluator: Evaluator) -> bool:
    """Whether a context is one that turns autograd off, under another name: `quiet = torch.no_grad()`."""
    return any(
        isinstance(value, ExternalName | ExternalResult)
        and (value.name in _OFF or value.name.endswith(".set_grad_enabled"))
        for value in evaluator.values(context, evaluator.root_frame(function))
    )


class AutogradMode:
    """Answers for the callers of a function, at any depth."""

    def __init__(self, hot: HotLoops, call_graph: CallGraph) -> None:
        self._hot = hot
        self._call_graph = call_graph
        self._callers: dict[Function, CallerMode] = {}
        self._by_switch: dict[Function, bool] = {}

    def is_switched(self, function: Function) -> bool:
        """Whether the function, what calls it, or the body of its module calls `set_grad_enabled`: it may be off."""
        if function not in self._by_switch:
            homes = {function, function.module.body, *self._call_graph.above(function)}
            self._by_switch[function] = any(
                last_name(call.func) in ("set_grad_enabled", "inference_mode") and (call.args or call.keywords)
                for home in homes
                if home.module.mentions(b"set_grad_enabled", b"inference_mode(")
                for call in home.calls
            )
        return self._by_switch[function]

    def of_callers(self, function: Function) -> CallerMode:
        """What the calls of a function do about autograd, at any depth."""
        if function not in self._callers:
            self._callers[function] = CallerMode.UNKNOWN  # a cycle: by its other callers
            modes = {self._of_site(site) for site in self._call_graph.sites(function)}
            if (
                modes
                and function.enclosing is not None
                and decorated(function.enclosing, self._hot.evaluator) is Decorated.OFF
            ):
                modes.add(CallerMode.OFF)
            self._callers[function] = _joined(modes)
        return self._callers[function]

    def _of_site(self, site: Site) -> CallerMode:
        evaluator = self._hot.evaluator
        by_decorator = decorated(site.caller, evaluator)
        if by_decorator is Decorated.OFF or any(is_off(each, evaluator) for each in self._points_of(site)):
            return CallerMode.OFF
        if by_decorator is Decorated.UNKNOWN:
            return CallerMode.UNKNOWN
        if not site.caller.symbol:
            return CallerMode.ON
        return self.of_callers(site.caller)

    def _points_of(self, site: Site) -> Iterator[ProgramPoint]:
        return (each for each in self._hot.spots(site.caller) if each.node is site.call)


def _joined(modes: set[CallerMode]) -> CallerMode:
    if not modes:
        return CallerMode.UNKNOWN
    if len(modes) == 1:
        return modes.pop()
    if modes & {CallerMode.OFF, CallerMode.MIXED}:
        return CallerMode.MIXED
    return CallerMode.UNKNOWN
