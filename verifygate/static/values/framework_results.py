"""Evaluate what a training framework hands back: the model, optimizer and loader that it is given, made its own.

`model, optimizer = accelerator.prepare(model, optimizer)` is evaluated as a call for each of them, in their order.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from verifygate.framework_names import LOADERS, WRAPPERS
from verifygate.static.values.domain import UNKNOWN, ExternalResult, Frame, Items, Object, Value
from verifygate.torch_names import PARALLEL

if TYPE_CHECKING:
    from verifygate.static.values.evaluation import Evaluation

__all__ = ["FORWARDS", "WRAPPERS", "made_part", "runs_a_forward"]

FORWARDS = PARALLEL.union(WRAPPERS)
"""Outside names of what is given a model first, and runs it when it is called."""


def made_part(name: str, call: ast.Call, frame: Frame, evaluator: Evaluation) -> Sequence[Value]:
    """What a method of a framework returns that takes objects and makes them its own."""
    if not call.args or any(isinstance(each, ast.Starred) for each in call.args):
        return [UNKNOWN]
    if len(call.args) > 1:
        return [Items(tuple(_for_one(each, call) for each in call.args), frame)]
    given = evaluator.values(call.args[0], frame)
    loaders = [each for each in given if isinstance(each, ExternalResult) and each.name in LOADERS]
    if loaders and len(loaders) == len(given):
        return loaders  # a loop over it gets the same items
    return [ExternalResult(name, ((call, frame),))]


def _for_one(given: ast.expr, call: ast.Call) -> ast.Call:
    return ast.copy_location(ast.Call(func=call.func, args=[given], keywords=call.keywords), call)


def runs_a_forward(value: Value, evaluator: Evaluation) -> bool:
    """Whether calling a value runs the forward of a module of the project: of the module, or of what wraps it."""
    match value:
        case ExternalResult(name=name):
            return name in FORWARDS
        case Object(made=made):
            return any("forward" in each.methods for each in evaluator.linearised(made))
    return False
