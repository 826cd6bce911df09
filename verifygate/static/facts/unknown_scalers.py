"""Protocol calls on objects that cannot be told: the order of steps is not checked there, and that is said.

`parts[kind].unscale_(optimizer)`, `self.amp.scale(loss).backward()`: nothing but a scaler has these methods, and no
value or name says that it is one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from verifygate.naming import names_a_scaler
from verifygate.static.amp.roles import Roles
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name
from verifygate.static.values.domain import UNKNOWN


def unknown_scalers(functions: Iterable[Function], roles: Roles) -> Iterator[tuple[Location, str]]:
    """The calls, each with what could not be told, once for each object of a function."""
    for function in functions:
        if not function.module.mentions(b".unscale_(", b".scale("):
            continue
        told: set[str] = set()
        frame = roles.evaluator.root_frame(function)
        for call in function.calls:
            held = _held(call)
            if held is None or names_a_scaler(last_name(held)) or (text := ast.unparse(held)) in told:
                continue
            if UNKNOWN in roles.evaluator.values(held, frame) and roles.scaler(held, frame) is None:
                told.add(text)
                reason = f"what `{text}` is cannot be told: its part in the scaler's protocol is not checked"
                yield Location(function, call), reason


def _held(call: ast.Call) -> ast.expr | None:
    """What must be a scaler for a call to mean anything."""
    match call:
        case ast.Call(func=ast.Attribute(attr="unscale_", value=held)):
            return held
        case ast.Call(func=ast.Attribute(attr="backward", value=ast.Call(func=ast.Attribute() as scaled))):
            return scaled.value if scaled.attr == "scale" else None
    return None
