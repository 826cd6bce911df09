"""What a call that makes a scaler, a region or another object is given, where it stands, and what keeps the object."""

from __future__ import annotations

import ast

from verifygate.static import torch_api
from verifygate.static.program import Function
from verifygate.static.values import Bound, Made


def built_at(made: Made) -> str:
    """The call that builds it, by its place; empty where none is in sight, only a type."""
    if not made.calls:
        return ""
    call, frame = made.calls[-1]
    return built_by(call, frame.function)


def built_by(call: ast.Call, function: Function) -> str:
    """What tells an object by the call that builds it, which stands in a function."""
    return f"{function.module.path}:{call.lineno}:{call.col_offset}"


def kept(receiver: Bound) -> Bound:
    """What an object goes by that a call makes: what that is assigned to (`loop = Loop(model)`), or else the call.

    Inside `__init__` it is the same object as in the methods that are called by that name.
    """
    function = receiver.frame.function
    nodes = function.of_kind(ast.Assign) if isinstance(receiver.expr, ast.Call) else ()
    targets = (node.targets[0] for node in nodes if node.value is receiver.expr and len(node.targets) == 1)
    return next(
        (Bound(each, receiver.frame) for each in targets if isinstance(each, ast.Name | ast.Attribute)), receiver
    )


def scaler_enabled(made: Made) -> Bound | None:
    position = torch_api.SCALER_ENABLED_POSITION.get(made.name, 5)
    return argument(made, "enabled", position)


def autocast_enabled(made: Made) -> Bound | None:
    device = torch_api.AUTOCASTS[made.name]
    return argument(made, "enabled", torch_api.ENABLED_POSITION[device])


def argument(made: Made, keyword: str, position: int) -> Bound | None:
    """An argument of the call that made the value, the last of the calls first where a partial is completed."""
    positional = [Bound(given, frame) for call, frame in made.calls for given in call.args]
    for call, frame in reversed(made.calls):
        for word in call.keywords:
            if word.arg == keyword:
                return Bound(word.value, frame)
    return positional[position] if position < len(positional) else None
