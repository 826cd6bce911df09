"""Gradients of a framework's own scaler: what the project does to them before they are unscaled.

Accelerate and Fabric scale in their `backward` and unscale in their own clips; DeepSpeed's engine unscales in its step.
Lightning scales in `manual_backward` and before the hook `on_after_backward`, and unscales in the optimizer's step,
before `on_before_optimizer_step`. transformers' Trainer scales in its `training_step` and unscales before the hook
`on_pre_optimizer_step`; by `on_step_end` it has set the gradients to None.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import takewhile

from verifygate.framework_names import ACCELERATE, DEEPSPEED, FABRIC, LIGHTNING, SCALER_OPTIONS, TRANSFORMERS, Framework
from verifygate.model import Severity
from verifygate.protocol import Event
from verifygate.static.analysis import Analysis
from verifygate.static.facts.framework_precisions import Handle
from verifygate.static.lowering.call_events import CallEvents
from verifygate.static.lowering.event_graph import Signal
from verifygate.static.rule import Match, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name
from verifygate.static.values.domain import ExternalResult, Frame, FunctionValue, Items, Unknown
from verifygate.torch_names import CLIP_FUNCTIONS

WORDS = (
    *("manual_backward(", "on_after_backward", "accelerator.backward(", "fabric.backward("),
    *("deepspeed.initialize(", "def training_step(", "def on_substep_end("),
)
"""What a file names that has such a framework run a backward."""
_DEPTH = 2
_AFTER_BACKWARD = {LIGHTNING: "on_after_backward", TRANSFORMERS: "on_substep_end"}
"""Hooks at whose entry gradients are scaled."""
_AFTER_STEP = {
    LIGHTNING: frozenset({"on_before_zero_grad"}),
    TRANSFORMERS: frozenset({"on_optimizer_step", "on_step_end", "on_step_begin"}),
}
"""Hooks between a step and the next backward."""
_END = frozenset({"step", "backward", "manual_backward"})
_REMEDIES = {
    ACCELERATE: "call `accelerator.unscale_gradients()` first, or clip by `accelerator.clip_grad_norm_(...)`",
    FABRIC: "clip by `fabric.clip_gradients(model, optimizer, max_norm=...)`, which unscales the gradients first",
    LIGHTNING: "do it in the hook `on_before_optimizer_step`: by then Lightning has unscaled the gradients",
    TRANSFORMERS: "set `max_grad_norm`, or do it in a callback's hook `on_pre_optimizer_step`: by then the Trainer has "
    "unscaled the gradients",
    DEEPSPEED: "set `gradient_clipping` in DeepSpeed's settings: the engine clips in its step, what it has unscaled",
}
_BY_NAME = {"accelerator": ACCELERATE, "fabric": FABRIC}


def matches(event: Event, does: str, analysis: Analysis) -> Iterator[Match]:
    """Every clip, or every reading, between a framework's backward and what unscales, in what may run in float16."""
    search = _Search(analysis)
    for function in analysis.functions:
        for start, handle in _backwards(function, analysis):
            scales = handle.scales
            if scales is False or (scales is None and function.module.file.is_test):
                continue
            if (found := search.first(event, start, handle.framework, function)) is not None:
                place = Location(function, found)
                unless = "" if scales else ", where it computes in float16"
                yield Match(
                    place,
                    f"`{statement_text(place)}` {does} that are still multiplied by the framework's loss scale{unless}",
                    certain=False,
                    severity=None if scales else Severity.LOW,
                    steps=(
                        *((each, "the precision is set here") for each in handle.settings if each.scales),
                        (Location(function, start), "the framework's backward"),
                        (place, "before it has unscaled"),
                    ),
                    remedy=_REMEDIES[handle.framework],
                )


def scaler_is_off(handlers: ast.expr, frame: Frame, analysis: Analysis) -> bool:
    """Whether the handlers that an Accelerator is given switch its scaler off."""
    for value in analysis.evaluator.values(handlers, frame):
        if isinstance(value, Items):
            return any(scaler_is_off(part, value.frame, analysis) for part in value.elements)
        if isinstance(value, ExternalResult) and value.name in SCALER_OPTIONS and value.calls:
            call, home = value.calls[0]
            enabled = [word.value for word in call.keywords if word.arg == "enabled"]
            return bool(enabled) and analysis.evaluator.truth(enabled[0], home) is False
    return False


def without_effect(analysis: Analysis) -> Iterator[Match]:
    """Every clip in a hook that a framework calls when the step has used the gradients."""
    search = _Search(analysis)
    for function in analysis.functions:
        framework = analysis.frameworks.caller_back(function.owner) if function.owner is not None else None
        if framework is None or function.name not in _AFTER_STEP.get(framework, ()) or _derives(function):
            continue
        if (found := search.first(Event.CLIP, function.node, framework, function)) is not None:
            place = Location(function, found)
            yield Match(
                place,
                f"`{statement_text(place)}` comes after the step that used these gradients: it has no effect",
                certain=framework is TRANSFORMERS,
                steps=((Location(function, function.node), f"{framework.name} calls it after the step"),),
                remedy=_REMEDIES[framework],
            )


def _derives(function: Function) -> bool:
    """Whether a method of the class runs a backward: a callback may train something of its own."""
    methods = function.owner.methods.values() if function.owner is not None else ()
    return any("backward" in last_name(call.func) for method in methods for call in method.calls)


def _backwards(function: Function, analysis: Analysis) -> Iterator[tuple[ast.AST, Handle]]:
    """Where gradients that a framework has scaled come to be in a function: a call, or the entry of a hook."""
    if not function.module.mentions(*(word.encode() for word in WORDS)):
        return
    framework = analysis.frameworks.caller_back(function.owner) if function.owner is not None else None
    if function.name == _AFTER_BACKWARD[LIGHTNING] and function.owner is not None:
        yield function.node, _lightnings(function, analysis)
    elif framework is TRANSFORMERS and function.name == _AFTER_BACKWARD[TRANSFORMERS]:
        yield function.node, analysis.frameworks.in_program(TRANSFORMERS, function.module.path)
    for call in function.calls:
        if not isinstance(call.func, ast.Attribute):
            continue
        if call.func.attr == "manual_backward":
            yield call, _lightnings(function, analysis)
        elif framework is TRANSFORMERS and ast.unparse(call.func) == "super().training_step":
            if (running := analysis.frameworks.running(function)) is not None:
                yield call, running
        elif call.func.attr == "backward" and call.args:
            handle = _of(call.func.value, analysis.evaluator.root_frame(function), analysis)
            if handle is not None:
                yield call, handle


def _lightnings(function: Function, analysis: Analysis) -> Handle:
    """The Trainer that runs a LightningModule's method, or a callback's: one of its program."""
    running = analysis.frameworks.running(function)
    return running or analysis.frameworks.in_program(LIGHTNING, function.module.path)


def _of(receiver: ast.expr, frame: Frame, analysis: Analysis) -> Handle | None:
    """The framework whose object it is: by what made it, or by its name where that is not in sight."""
    if (handle := analysis.frameworks.handle(receiver, frame)) is not None:
        return handle
    owner = frame.function.owner
    runs_it = owner is not None and analysis.frameworks.host(owner) is TRANSFORMERS
    if owner is not None and runs_it and ast.unparse(receiver) == "self.accelerator":
        return analysis.frameworks.running(frame.function)
    named = _BY_NAME.get(last_name(receiver))
    if named is None or not all(isinstance(each, Unknown) for each in analysis.evaluator.values(receiver, frame)):
        return None
    return analysis.frameworks.in_program(named, frame.function.module.path)


class _Search:
    """Goes through what comes after a backward, in the order in which it is written."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._signals = CallEvents(analysis.roles)

    def first(self, event: Event, start: ast.AST, framework: Framework, function: Function) -> ast.Call | None:
        """The first clip or reading that one run may come to, before the step and before what unscales."""
        frame = self._analysis.evaluator.root_frame(function)
        here = Location(function, start)
        for call in sorted(function.calls, key=lambda each: (each.lineno, each.col_offset)):
            if (
                call is start
                or call.lineno < here.line
                or not self._analysis.path_conditions.agree(here, Location(function, call))
            ):
                continue
            does = self._does(call, frame, framework, _DEPTH)
            if does is event:
                return call
            if does in (Event.CLIP, Event.UNSCALE):
                return None  # that a clip measures is no fault of its own
        return None

    def _does(self, call: ast.Call, frame: Frame, framework: Framework, depth: int) -> Event | None:
        """Whether a call clips or reads gradients, or ends that by unscaling or by a step; itself, or what it runs."""
        name = last_name(call.func)
        if (
            name in _END
            or "unscale" in name
            or (name in framework.unscales | framework.clips and self._is_its(call, framework, frame))
        ):
            return Event.UNSCALE
        if name in CLIP_FUNCTIONS and _without_limit(call):
            return Event.READ
        meaning = self._signals.of_call(call, frame, guarded=False)
        if meaning is not None:
            is_taken = isinstance(meaning.on, Signal) and meaning.on.event in (Event.CLIP, Event.READ)
            return meaning.on.event if is_taken else None  # type: ignore[union-attr]
        callees = self._analysis.evaluator.callees(call, frame) if depth else ()
        if not callees and name == "clip_gradients" and framework is LIGHTNING:
            return Event.CLIP  # the module's own, which clips what is there
        found = {self._inside(callee, call, frame, framework, depth - 1) for callee in callees}
        return next((event for event in (Event.UNSCALE, Event.CLIP, Event.READ) if event in found), None)

    def _inside(
        self, callee: FunctionValue, call: ast.Call, frame: Frame, framework: Framework, depth: int
    ) -> Event | None:
        """What a function of the project does to gradients: a clip that measures first is a clip."""
        inside = self._analysis.evaluator.enter(callee, call, frame)
        if inside is None:
            return None
        calls = (each for each in callee.function.calls if self._may_run(each, inside))
        done = [does for each in calls if (does := self._does(each, inside, framework, depth)) is not None]
        scaled = list(takewhile(lambda does: does is not Event.UNSCALE, done))
        return Event.CLIP if Event.CLIP in scaled else next(iter(done), None)

    def _is_its(self, call: ast.Call, framework: Framework, frame: Frame) -> bool:
        return isinstance(call.func, ast.Attribute) and (
            (handle := _of(call.func.value, frame, self._analysis)) is not None and handle.framework is framework
        )

    def _may_run(self, call: ast.Call, frame: Frame) -> bool:
        conditions = self._analysis.path_conditions.conditions(Location(frame.function, call))
        return all(self._analysis.evaluator.truth(test, frame) is not (not holds) for test, holds in conditions)


def _without_limit(call: ast.Call) -> bool:
    """Whether a clip is given None for its limit: it only measures."""
    return len(call.args) > 1 and isinstance(call.args[1], ast.Constant) and call.args[1].value is None
