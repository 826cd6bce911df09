"""Follow the gradients that `torch.func` computes to the loss function: whether it scales what it returns.

gradients = torch.func.grad(loss_of)(parameters, inputs)      # of the loss as it is, if `loss_of` scales nothing
"""

from __future__ import annotations

import ast

from verifygate.static.amp.scale_flow import ScaleFlow
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import Frame, FunctionValue

_NAMES = ("grad", "grad_and_value")
_MAKERS = frozenset(f"{package}.{name}" for package in ("torch.func", "functorch") for name in _NAMES)
_MAX_DEPTH = 4


def is_unscaled_gradient(call: ast.Call, frame: Frame, scaling: ScaleFlow) -> bool:
    """Whether a call computes gradients of an unscaled loss: `torch.func.grad(loss_of)(parameters, inputs)`."""
    maker = scaling.bound(call.func, frame)
    return isinstance(maker, ast.Call) and differentiates_unscaled(maker, frame, scaling)


def differentiates_unscaled(call: ast.Call, frame: Frame, scaling: ScaleFlow) -> bool:
    """Whether a call is `torch.func.grad(loss_of)`, of a function in sight that surely scales nothing."""
    if last_name(call.func) not in _NAMES or not call.args:
        return False
    if scaling.roles.known_name(call.func, frame) not in _MAKERS:
        return False
    losses = scaling.roles.evaluator.values(call.args[0], frame)
    return bool(losses) and all(
        isinstance(value, FunctionValue) and _scales_nothing(value.function, scaling, 0) for value in losses
    )


def _scales_nothing(function: Function, scaling: ScaleFlow, depth: int) -> bool:
    """Whether no scaler is in a function or in what it calls of the project, nor a factor that may be a scale."""
    if depth > _MAX_DEPTH:
        return False
    evaluator = scaling.roles.evaluator
    frame = evaluator.root_frame(function)
    for node in function.own_nodes:
        match node:
            case ast.Attribute(attr="scale" | "get_scale"):
                return False
            case ast.Name(ctx=ast.Load()) if scaling.roles.scaler(node, frame) is not None:
                return False
    if any(_is_multiplied(each, frame, scaling) for each in function.returns):
        return False
    callees = {callee.function for call in function.calls for callee in evaluator.callees(call, frame)} - {function}
    return all(_scales_nothing(callee, scaling, depth + 1) for callee in callees)


def _is_multiplied(returned: ast.expr, frame: Frame, scaling: ScaleFlow) -> bool:
    """Whether something that is no constant multiplies what a function returns."""
    for node in walk(scaling.bound(returned, frame)):
        match node:
            case ast.BinOp(op=ast.Mult(), left=left, right=right):
                if not any(isinstance(side, ast.Constant) for side in (left, right)):
                    return True
    return False
