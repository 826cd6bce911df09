"""Autograd mode: whether the callers of a function turn autograd off; its own contexts are in `autograd_contexts`."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from verifygate.static.amp.autograd_contexts import Decorated, GradMode, decorated, grad_mode
from verifygate.static.facts.hot_loops import HotLoops
from verifygate.static.symbols.program import Function
from verifygate.static.symbols.sites import ProgramPoint
from verifygate.static.syntax.names import last_name
from verifygate.static.values.call_graph import CallGraph, Site
from verifygate.static.values.evaluator import Evaluator


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
    return mode_at(point, evaluator) is not GradMode.ON


def mode_at(point: ProgramPoint, evaluator: Evaluator) -> GradMode:
    """What the contexts around a program point in its own function do about autograd."""
    contexts = ((each, False) for each in reversed(point.contexts))
    return grad_mode(contexts, evaluator.root_frame(point.function), evaluator)


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
