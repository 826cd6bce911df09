"""Learning-rate schedules: which calls advance one."""

from __future__ import annotations

import ast

from verifygate.naming import names_a_schedule, names_a_scheduler_class
from verifygate.static.analysis import Analysis
from verifygate.static.symbols.program import Class, Function
from verifygate.static.syntax.names import last_name
from verifygate.static.values.domain import ExternalResult, Literal, Object, Unknown, Value

PER_BATCH = frozenset({"step_batch", "batch_step", "step_update", "step_iter"})
"""Methods of schedules of other makes that count batches; they are told the number of the batch."""


def steps_a_schedule(call: ast.Call, function: Function, analysis: Analysis) -> bool:
    """Whether a call is a step of a schedule, of torch's or of another make."""
    if not isinstance(call.func, ast.Attribute):
        return False
    told = call.func.attr in PER_BATCH
    if not told and (call.func.attr != "step" or call.args or call.keywords):
        return False
    values = analysis.evaluator.values(call.func.value, analysis.evaluator.root_frame(function))
    if any(_is_torchs(value, analysis) for value in values):
        return True
    there = [value for value in values if not (isinstance(value, Literal) and value.value is None)]
    of_kind = (Unknown, ExternalResult, Object, Literal) if told else (Unknown, ExternalResult)
    known = bool(there or told) and all(isinstance(value, of_kind) for value in there)
    return known and names_a_schedule(last_name(call.func.value))


def _is_torchs(value: Value, analysis: Analysis) -> bool:
    """Whether a value is a schedule of torch's, or of a class of the project that derives from one or is like one."""
    match value:
        case ExternalResult(name=name):
            return ".lr_scheduler." in name
        case Object(made=made):
            bases = analysis.evaluator.outside_bases(made)
            return any(".lr_scheduler." in base for base in bases) or _is_like_one(made, analysis)
    return False


def _is_like_one(made: Class, analysis: Analysis) -> bool:
    """Whether a class that calls itself a schedule sets a learning rate in its `step`, or steps a schedule there."""
    if not names_a_scheduler_class(made.node.name):
        return False
    step = next((each.methods["step"] for each in analysis.evaluator.linearised(made) if "step" in each.methods), None)
    return step is not None and any(
        (isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and _is_rate(node.slice))
        or (isinstance(node, ast.Attribute) and node.attr == "step" and names_a_schedule(last_name(node.value)))
        for node in step.own_nodes
    )


def _is_rate(key: ast.expr) -> bool:
    return isinstance(key, ast.Constant) and key.value == "lr"
