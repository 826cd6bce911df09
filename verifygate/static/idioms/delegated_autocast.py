"""Where a framework computes in its precision: inside the steps that it calls, and in the models that it hands back.

Lightning runs the whole `training_step` in its autocast region. What `accelerator.prepare(model)` and
`fabric.setup(model)` return has a region in its `forward`, and so has the model that transformers hands to
`compute_loss`; the code around it is in none.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.framework_names import LIGHTNING, TRANSFORMERS
from verifygate.static.analysis import Analysis
from verifygate.static.facts.framework_precisions import Handle
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import Frame, Object

_STEP = "training_step"
_WITH_MODEL = frozenset({"compute_loss", "training_step"})
_DEPTH = 4


def region_of_a_step(node: ast.AST, function: Function, analysis: Analysis, depth: int = _DEPTH) -> Handle | None:
    """The framework in whose region a node runs, as part of a step: none where the project opens one in between."""
    if analysis.region_coverage.written_around(node, function) is not None:
        return None
    if function.owner is not None and function.name == _STEP and analysis.frameworks.host(function.owner) is LIGHTNING:
        return analysis.frameworks.running(function)
    for site in analysis.call_graph.sites(function) if depth else ():
        if (handle := region_of_a_step(site.call, site.caller, analysis, depth - 1)) is not None:
            return handle
    return None


def region_around(node: ast.AST, function: Function, analysis: Analysis, depth: int = _DEPTH) -> Handle | None:
    """The framework in whose region a node runs: in a step, or below the forward of a model that it has wrapped."""
    if (handle := region_of_a_step(node, function, analysis)) is not None:
        return handle
    if function.name == "forward" and (handle := _trained_by_a_trainer(function, analysis)) is not None:
        return handle
    for site in analysis.call_graph.sites(function) if depth else ():
        if analysis.region_coverage.written_around(site.call, site.caller) is None or function.name == "forward":
            frame = analysis.evaluator.root_frame(site.caller)
            handle = analysis.frameworks.wrapped(site.call.func, frame)
            handle = handle or region_around(site.call, site.caller, analysis, depth - 1)
            if handle is not None:
                return handle
    return None


def _trained_by_a_trainer(forward: Function, analysis: Analysis) -> Handle | None:
    """The settings with which transformers' Trainer trains the module that has a forward."""
    for run in analysis.framework_runs.all:
        if run.framework is TRANSFORMERS and {"model", "args"} <= run.given.keys() and forward.owner is not None:
            values = analysis.frameworks.values_at(run.given["model"], run.frame)
            if any(
                isinstance(each, Object) and analysis.framework_runs.method(each.made, "forward") is forward
                for each in values
            ):
                return analysis.frameworks.handle(run.given["args"], run.frame)
    return None


def model_of_a_framework(outputs: ast.expr, function: Function, analysis: Analysis) -> Handle | None:
    """The framework whose model computes what an expression is worked out from, in a region of its own."""
    frames = [frame for _, frame in analysis.call_graph.entries(function)] or [analysis.evaluator.root_frame(function)]
    for call in _calls_in(outputs, function, set()):
        handles = [_runs_in(call, frame, analysis) for frame in frames]
        found = [each for each in handles if each is not None]
        if found:
            sure = len(found) == len(handles) and all(each.followed for each in found)
            return Handle(found[0].framework, found[0].instances, sure, found[0].configured)
    return None


def framework_of_a_loss(call: ast.Call, loss: ast.expr, function: Function, analysis: Analysis) -> Handle | None:
    """The framework that computes a loss in its precision, where a call uses the loss."""
    if (handle := region_of_a_step(call, function, analysis)) is not None:
        return handle
    owner = function.owner
    if owner is not None and function.name in _WITH_MODEL and analysis.frameworks.host(owner) is TRANSFORMERS:
        return analysis.frameworks.running(function)
    return model_of_a_framework(loss, function, analysis)


def _runs_in(call: ast.Call, frame: Frame, analysis: Analysis) -> Handle | None:
    """The framework whose model a call runs."""
    function = frame.function
    if isinstance(call.func, ast.Name) and function.owner is not None and function.name in _WITH_MODEL:
        is_given = len(function.parameters) > 1 and call.func.id == function.parameters[1].arg
        if is_given and analysis.frameworks.host(function.owner) is TRANSFORMERS:
            return analysis.frameworks.running(function)
    return analysis.frameworks.wrapped(call.func, frame)


def _calls_in(expr: ast.expr, function: Function, seen: set[str]) -> Iterator[ast.Call]:
    """The calls in an expression, and in what its names are bound to in the function."""
    for node in walk(expr):
        if isinstance(node, ast.Call):
            yield node
        elif isinstance(node, ast.Name) and node.id not in seen:
            seen.add(node.id)
            for binding in function.scope.names.get(node.id, ()):
                if binding.kind in ("value", "item") and binding.expr is not None:
                    yield from _calls_in(binding.expr, function, seen)
