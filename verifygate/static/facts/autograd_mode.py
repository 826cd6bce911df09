"""Autograd mode: whether code runs with autograd off, by its contexts, by decorators, and by its callers."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from enum import StrEnum

from verifygate.static.facts.hot_loops import HotLoops
from verifygate.static.symbols.program import Function
from verifygate.static.symbols.sites import ProgramPoint, calm
from verifygate.static.syntax.names import last_name
from verifygate.static.values.call_graph import CallGraph, Site
from verifygate.static.values.domain import ExternalName, ExternalResult
from verifygate.static.values.evaluator import Evaluator

_OFF = ("torch.no_grad", "torch.inference_mode", "torch.autograd.no_grad", "torch.autograd.inference_mode")


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
    return point.without_gradients or any(_enters(each, point.function, evaluator) for each in point.contexts)


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
            if modes and function.enclosing is not None and calm(function.enclosing):
                modes.add(CallerMode.OFF)
            self._callers[function] = _joined(modes)
        return self._callers[function]

    def _of_site(self, site: Site) -> CallerMode:
        if any(is_off(each, self._hot.evaluator) for each in self._points_of(site)) or calm(site.caller):
            return CallerMode.OFF
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
