"""Windows of the default dtype: modules that torch makes between two calls of `torch.set_default_dtype`."""

from __future__ import annotations

import ast

from verifygate.base.records import record
from verifygate.static.amp.roles import Roles
from verifygate.static.symbols.enclosing import EnclosingNodes
from verifygate.static.symbols.location import Location
from verifygate.static.values.domain import Bound, Frame

_SETS = "torch.set_default_dtype"
_WORD = b"set_default_dtype("


@record
class DefaultDtype:
    """The dtype that torch makes modules in, and the call that set it."""

    said: Bound
    place: Location
    always: bool
    """Whether each run that comes to the module has set it."""


def default_dtype_at(call: ast.Call, frame: Frame, roles: Roles, enclosing: EnclosingNodes) -> DefaultDtype | None:
    """What sets the default dtype last before a call: in its function, or in one that led to it."""
    node: ast.Call | None = call
    home: Frame | None = frame
    while node is not None and home is not None:
        function = home.function
        sets = [
            each
            for each in (function.calls if function.module.mentions(_WORD) else ())
            if each.lineno < node.lineno and each.args and roles.known_name(each.func, home) == _SETS
        ]
        if sets:
            last = max(sets, key=lambda each: each.lineno)
            around = enclosing.conditions(node, function)
            alone = [each for each in enclosing.conditions(last, function) if each not in around]
            return DefaultDtype(Bound(last.args[0], home), Location(function, last), not alone)
        node, home = home.call, home.caller
    return None
