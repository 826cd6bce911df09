"""What a call that makes a scaler or a region is given, and where it stands."""

from __future__ import annotations

import ast

from verifygate import torch_names
from verifygate.static.symbols.program import Function
from verifygate.static.values.domain import Bound, Made


def built_at(made: Made) -> str:
    """The call that builds it, by its place; empty where none is in sight, only a type."""
    if not made.calls:
        return ""
    call, frame = made.calls[-1]
    return built_by(call, frame.function)


def built_by(call: ast.Call, function: Function) -> str:
    """What tells an object by the call that builds it, which stands in a function."""
    return f"{function.module.path}:{call.lineno}:{call.col_offset}"


def scaler_enabled(made: Made) -> Bound | None:
    position = torch_names.SCALER_ENABLED_POSITION.get(made.name, 5)
    return argument(made, "enabled", position)


def autocast_enabled(made: Made) -> Bound | None:
    device = torch_names.AUTOCASTS[made.name]
    return argument(made, "enabled", torch_names.ENABLED_POSITION[device])


def argument(made: Made, keyword: str, position: int) -> Bound | None:
    """An argument of the call that made the value, the last of the calls first where a partial is completed."""
    positional = [Bound(given, frame) for call, frame in made.calls for given in call.args]
    for call, frame in reversed(made.calls):
        for word in call.keywords:
            if word.arg == keyword:
                return Bound(word.value, frame)
    return positional[position] if position < len(positional) else None
