"""Checkpoints with an optimizer of a framework, without the state of the framework's scaler."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.framework_names import DEEPSPEED
from verifygate.static.analysis import Analysis
from verifygate.static.facts.framework_precisions import Handle
from verifygate.static.idioms.framework_loops import asks_for_optimizers
from verifygate.static.rule import Match, statement_text
from verifygate.static.symbols.location import Location

_SAVES_WHOLE = b"save_state("
"""What a file names that lets Accelerate save everything."""


def checkpoints_past_frameworks(analysis: Analysis) -> Iterator[Match]:
    """`{"optimizer": optimizer.state_dict()}`, saved, of an optimizer whose step goes through a framework's scaler."""
    if not analysis.frameworks.instances:
        return
    for function in analysis.functions:
        if not function.module.mentions(b".state_dict(") or function.module.file.is_test:
            continue
        for call in function.calls:
            place = Location(function, call)
            handle = _whose_state(place, analysis)
            if handle is None or not handle.scales or handle.framework is DEEPSPEED or handle.place is None:
                continue
            if not analysis.checkpoints.is_kept(call, function) or _is_saved_elsewhere(place, analysis):
                continue
            yield Match(
                place,
                f"`{statement_text(place)}` is kept for resuming, the state of {handle.framework.name}'s scaler is not",
                certain=False,
                steps=((handle.place, "has a scaler"), (place, "the checkpoint")),
                remedy="let the framework save: `accelerator.save_state(...)`, `trainer.save_checkpoint(...)`",
            )


def _is_saved_elsewhere(place: Location, analysis: Analysis) -> bool:
    """Whether the program saves the scaler's state, or lets the framework save everything."""
    files = analysis.import_graph.together(place.path)
    modules = (each for each in analysis.modules if each.path in files)
    return any(each.mentions(_SAVES_WHOLE) for each in modules) or analysis.checkpoints.scaler_saved(files) is not None


def _whose_state(place: Location, analysis: Analysis) -> Handle | None:
    """The framework whose optimizer's state a call takes."""
    call = place.node
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "state_dict":
        return None
    frame = analysis.evaluator.root_frame(place.function)
    if place.function.owner is not None and asks_for_optimizers(call.func.value, place.function):
        return analysis.frameworks.running(place.function)
    if not analysis.frameworks.is_of_an_optimizer(call.func.value, frame):
        return None
    return analysis.frameworks.wrapped(call.func.value, frame)
