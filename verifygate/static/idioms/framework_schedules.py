"""Learning-rate schedules that a framework does not hold back where its scaler skips a step."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.framework_names import LIGHTNING
from verifygate.static.analysis import Analysis
from verifygate.static.facts.framework_precisions import Handle
from verifygate.static.idioms.framework_loops import Does, GradientCall, GradientCalls
from verifygate.static.rule import Match, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name

_BATCH_HOOK = "on_train_batch_end"
_REMEDY = "let the framework have the schedule, or step it only where `optimizer_step_was_skipped` is false"
_RETURN = "return the schedule from `configure_optimizers`: Lightning steps it, and leaves it out with a skipped step"


def schedules_past_frameworks(analysis: Analysis) -> Iterator[Match]:
    """Steps of torch's schedules as they were built, in each iteration that a framework steps in, or in its hook."""
    for function, found in GradientCalls(analysis).loops():
        steps = [each for each in found if each.does is Does.STEP and each.handle is not None and each.handle.scales]
        if steps and not _asks_for_skips(function):
            for place in _raw_steps(function, analysis):
                if (beside := _in_one_iteration(place, steps, analysis)) is not None and beside.handle is not None:
                    yield _match(place, beside.handle, ((beside.place, "the step"),), _REMEDY)
    for function in analysis.functions:
        if function.name != _BATCH_HOOK or function.owner is None or _asks_for_skips(function):
            continue
        if analysis.frameworks.host(function.owner) is LIGHTNING:
            handle = analysis.frameworks.running(function)
            for place in _raw_steps(function, analysis) if handle is not None and handle.scales else ():
                yield _match(place, handle, (), _RETURN)  # type: ignore[arg-type]


def _match(place: Location, handle: Handle, steps: tuple[tuple[Location, str], ...], remedy: str) -> Match:
    message = f"`{statement_text(place)}` advances the schedule also where {handle.framework.name} skipped the step"
    shown = ((handle.place, "has a scaler"),) if handle.place is not None else ()
    return Match(place, message, certain=False, steps=(*shown, *steps, (place, "the schedule")), remedy=remedy)


def _raw_steps(function: Function, analysis: Analysis) -> Iterator[Location]:
    frame = analysis.evaluator.root_frame(function)
    for call in function.calls:
        is_step = isinstance(call.func, ast.Attribute) and call.func.attr == "step"
        if is_step and analysis.frameworks.is_raw_schedule(call.func.value, frame):  # type: ignore[attr-defined]
            yield Location(function, call)


def _in_one_iteration(place: Location, steps: list[GradientCall], analysis: Analysis) -> GradientCall | None:
    loops = analysis.enclosing.loops(place.node, place.function)
    for each in steps:
        beside = analysis.enclosing.loops(each.call, place.function) == loops and each.line[0] < place.line
        if beside and analysis.path_conditions.agree(place, each.place):
            return each
    return None


def _asks_for_skips(function: Function) -> bool:
    names = (node for kind in (ast.Name, ast.Attribute) for node in function.own_nodes if isinstance(node, kind))
    return any("skip" in last_name(node).lower() for node in names)
