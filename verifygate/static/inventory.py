"""Where AMP code stands: who makes the scaler, who enters autocast, who scales, unscales, clips, steps, updates."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate import torch_names
from verifygate.model import Construct, ConstructKind, NotFollowed
from verifygate.protocol import Event
from verifygate.sources.file import SourceFile
from verifygate.static.amp.roles import ScalerKind
from verifygate.static.analysis import Analysis
from verifygate.static.facts import delegation
from verifygate.static.facts.silent_scale_reads import passive_readings
from verifygate.static.lowering.call_events import CallEvents
from verifygate.static.lowering.event_graph import Backward, Signal
from verifygate.static.values.domain import ExternalName, ExternalResult, Frame, Unknown, Value

_EVENT_KINDS = {
    Event.UNSCALE: ConstructKind.UNSCALE,
    Event.CLIP: ConstructKind.CLIP,
    Event.SCALER_STEP: ConstructKind.SCALER_STEP,
    Event.OPTIMIZER_STEP: ConstructKind.OPTIMIZER_STEP,
    Event.CHECKED_STEP: ConstructKind.OPTIMIZER_STEP,
    Event.UPDATE: ConstructKind.UPDATE,
    Event.ZERO_GRAD: ConstructKind.ZERO_GRAD,
}
_SCALER_METHODS = {
    "scale": ConstructKind.SCALE,
    "get_scale": ConstructKind.GET_SCALE,
    "state_dict": ConstructKind.STATE_SAVED,
    "load_state_dict": ConstructKind.STATE_LOADED,
}
_NAMED = (ConstructKind.GRAD_SCALER, ConstructKind.AUTOCAST, ConstructKind.DELEGATED)
"""Kinds that are told by the qualified name of what is called."""


def constructs(analysis: Analysis) -> tuple[Construct, ...]:
    """Every piece of AMP code in the files that mention AMP, in order of place."""
    found: dict[tuple[str, int, str], Construct] = {}
    signals = CallEvents(analysis.roles)
    looked_at = {module.path for module in analysis.modules if _may_hold(module.file)}
    for call, function in analysis.calls:
        if function.module.path not in looked_at:
            continue
        frame = analysis.evaluator.root_frame(function)
        for kind in _kinds(call, frame, analysis, signals):
            construct = Construct(
                kind=kind,
                path=function.module.path,
                line=call.lineno,
                symbol=function.symbol,
                text=_text(call),
                callee=_callee(call, frame, analysis) if kind in _NAMED else "",
            )
            found.setdefault((construct.path, construct.line, kind.value), construct)
    for passive in passive_readings(analysis.modules):
        path, line = passive.function.module.path, passive.node.lineno
        found[path, line, ConstructKind.PASSIVE_SCALE.value] = Construct(
            kind=ConstructKind.PASSIVE_SCALE,
            path=path,
            line=line,
            symbol=passive.function.symbol,
            text=_text(passive.node),
            note=passive.note,
        )
    return tuple(sorted(found.values(), key=lambda each: (each.path, each.line, each.kind)))


_OF_UNKNOWN = {
    "scale": ConstructKind.SCALE,
    "unscale_": ConstructKind.UNSCALE,
    "step": ConstructKind.SCALER_STEP,
    "update": ConstructKind.UPDATE,
    "get_scale": ConstructKind.GET_SCALE,
}
"""What a method of an object would be, if the object is a scaler."""


def unfollowed(analysis: Analysis) -> tuple[NotFollowed, ...]:
    """The calls on objects that nobody knows, and that a file treats as a scaler: it steps with them and updates them.

    Whatever says that a piece of AMP code is nowhere has to name these.
    """
    found: list[NotFollowed] = []
    for module in analysis.modules:
        if not _may_hold(module.file):
            continue
        calls = [
            (call, call.func, function)
            for function in module.all_functions
            for call in function.calls
            if isinstance(call.func, ast.Attribute) and call.func.attr in _OF_UNKNOWN
        ]
        methods: dict[str, set[str]] = {}
        for _, func, _ in calls:
            methods.setdefault(ast.unparse(func.value), set()).add(func.attr)
        for call, func, function in calls:
            frame = analysis.evaluator.root_frame(function)
            named = ast.unparse(func.value)
            if _is_used_as_scaler(methods[named]) and _is_unknown(func.value, frame, analysis):
                reason = f"`{_text(call)}`: what `{named}` is"
                found.append(
                    NotFollowed(path=module.path, line=call.lineno, reason=reason, construct=_OF_UNKNOWN[func.attr])
                )
    return tuple(found)


def _is_used_as_scaler(methods: set[str]) -> bool:
    return {"step", "update"} <= methods or "unscale_" in methods


def _is_unknown(receiver: ast.expr, frame: Frame, analysis: Analysis) -> bool:
    """Whether an object may be anything: no scaler is known, and a value is not, or is what a library gives."""
    scaler = analysis.roles.scaler(receiver, frame)
    if scaler is not None and scaler.kind is not ScalerKind.IDLE:
        return False
    values = analysis.evaluator.values(receiver, frame)
    return not values or any(isinstance(each, Unknown) or _is_of_library(each) for each in values)


def _is_of_library(value: Value) -> bool:
    return isinstance(value, ExternalResult) and value.name not in torch_names.GRAD_SCALERS


def _may_hold(file: SourceFile) -> bool:
    """Whether a file names AMP, or what precision is handed to: `TrainingArguments(fp16=True)` names no AMP."""
    return file.mentions_amp or any(word.encode() in file.data for word in delegation.WORDS)


def _text(node: ast.expr) -> str:
    return " ".join(ast.unparse(node).split())[:120]


def _kinds(call: ast.Call, frame: Frame, analysis: Analysis, signals: CallEvents) -> Iterator[ConstructKind]:
    name = _callee(call, frame, analysis)
    if name in torch_names.GRAD_SCALERS:
        yield ConstructKind.GRAD_SCALER
    elif name in torch_names.AUTOCASTS:
        yield ConstructKind.AUTOCAST
    elif delegates(name, call):
        yield ConstructKind.DELEGATED
    if isinstance(call.func, ast.Attribute) and (kind := _SCALER_METHODS.get(call.func.attr)):
        if analysis.roles.scaler(call.func.value, frame):
            yield kind
        return
    meaning = signals.of_call(call, frame, guarded=False)
    signal = (meaning.on or meaning.off) if meaning is not None else None
    if isinstance(signal, Backward):
        yield ConstructKind.BACKWARD
    elif isinstance(signal, Signal) and signal.event in _EVENT_KINDS:
        yield _EVENT_KINDS[signal.event]


def _callee(call: ast.Call, frame: Frame, analysis: Analysis) -> str:
    """The qualified name of what is called; of several, as behind `except ImportError`, that of a scaler or region."""
    if name := analysis.roles.known_name(call.func, frame):
        return name
    values = analysis.evaluator.values(call.func, frame)
    names = sorted(each.name for each in values if isinstance(each, ExternalName))
    return next((each for each in names if each in torch_names.GRAD_SCALERS or each in torch_names.AUTOCASTS), "")


def delegates(name: str, call: ast.Call) -> bool:
    """Whether a call hands precision to a framework: `pl.Trainer(precision=...)` and its like."""
    keywords = torch_names.DELEGATES.get(name, "").split()
    given = {word.arg: word.value for word in call.keywords}
    return any(key in given and not _is_off(given[key]) for key in keywords)


def _is_off(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and str(value.value) in (
        "False",
        "None",
        "no",
        "32",
        "32-true",
        "64",
        "64-true",
    )
