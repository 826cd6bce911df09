"""Arguments and allocation site of a GradScaler or autocast call: `enabled` of `GradScaler("cuda", enabled=amp)`."""

from __future__ import annotations

import ast

from verifygate import torch_names
from verifygate.static.symbols.program import Function
from verifygate.static.values.domain import Bound, ExternalResult


def built_at(made: ExternalResult) -> str:
    """The allocation site of an object; empty where only its type is known."""
    if not made.calls:
        return ""
    call, frame = made.calls[-1]
    return built_by(call, frame.function)


def built_by(call: ast.Call, function: Function) -> str:
    """The allocation site that a call is, as `path:line:column`."""
    return f"{function.module.path}:{call.lineno}:{call.col_offset}"


def scaler_enabled(made: ExternalResult) -> Bound | None:
    """The argument `enabled` of the call that made a GradScaler; None where it is left to the default."""
    position = torch_names.SCALER_ENABLED_POSITION.get(made.name, 5)
    return argument(made, "enabled", position)


def autocast_enabled(made: ExternalResult) -> Bound | None:
    """The argument `enabled` of the call that made an autocast context; None where it is left to the default."""
    device = torch_names.AUTOCASTS[made.name]
    return argument(made, "enabled", torch_names.ENABLED_POSITION[device])


def argument(made: ExternalResult, keyword: str, position: int) -> Bound | None:
    """An argument of the call that made a value; of a partial's two calls the later one's keyword overrides."""
    positional = [Bound(given, frame) for call, frame in made.calls for given in call.args]
    for call, frame in reversed(made.calls):
        for word in call.keywords:
            if word.arg == keyword:
                return Bound(word.value, frame)
    return positional[position] if position < len(positional) else None
