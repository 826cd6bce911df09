"""Every call of a scaler's methods in the picked modules, with what it is called on and where it stands."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from verifygate import torch_names
from verifygate.base.records import record
from verifygate.static.amp.roles import Roles, Scaler, ScalerKind
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.values.domain import Frame


@record
class ScalerCall:
    """`scaler.method(...)` on a scaler that is or may be on."""

    call: ast.Call
    receiver: ast.expr
    method: str
    scaler: Scaler
    function: Function
    frame: Frame

    @property
    def place(self) -> Location:
        return Location(self.function, self.call)

    @property
    def is_certain(self) -> bool:
        """Whether the scaler was followed to its constructor."""
        return self.scaler.kind is ScalerKind.LIVE

    @property
    def is_built(self) -> bool:
        """Whether it is known which call built the scaler."""
        return self.scaler.origin is not None and not self.scaler.origin.is_parameter

    @property
    def optimizer(self) -> ast.expr | None:
        """What `unscale_` or `step` is given."""
        if self.call.args and not isinstance(self.call.args[0], ast.Starred):
            return self.call.args[0]
        return next((word.value for word in self.call.keywords if word.arg == "optimizer"), None)

    @property
    def closure(self) -> ast.expr | None:
        """What `step` is given beside the optimizer."""
        named = next((word.value for word in self.call.keywords if word.arg == "closure"), None)
        return named or (self.call.args[1] if len(self.call.args) > 1 else None)


def scaler_calls(functions: Sequence[Function], roles: Roles) -> list[ScalerCall]:
    """In order of place; calls on a scaler that is surely off are left out."""
    found = []
    for function in functions:
        frame = roles.evaluator.root_frame(function)
        for node in function.calls:
            if not isinstance(node.func, ast.Attribute):
                continue
            if node.func.attr not in torch_names.SCALER_METHODS:
                continue
            scaler = roles.scaler(node.func.value, frame)
            if scaler is not None and scaler.kind is not ScalerKind.IDLE:
                found.append(ScalerCall(node, node.func.value, node.func.attr, scaler, function, frame))
    return found
