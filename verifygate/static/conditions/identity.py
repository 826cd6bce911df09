"""Identity tests: `head is not body`, where one optimizer may have been handed in under two names."""

from __future__ import annotations

import ast

from verifygate.static.amp.roles import Roles
from verifygate.static.values.domain import ExternalResult, Frame

_NAMES = ast.Name | ast.Attribute | ast.Subscript


def identity(test: ast.expr, frame: Frame, roles: Roles) -> bool | None:
    """Whether an identity test holds: its operands surely name one object, or two; None for any other condition."""
    match test:
        case ast.Compare(left=one, ops=[ast.Is() | ast.IsNot() as op], comparators=[other]):
            wanted = isinstance(op, ast.Is)
        case ast.Compare(
            left=ast.Call(func=ast.Name(id="id"), args=[one]),
            ops=[ast.Eq() | ast.NotEq() as op],
            comparators=[ast.Call(func=ast.Name(id="id"), args=[other])],
        ):
            wanted = isinstance(op, ast.Eq)
        case _:
            return None
    if not isinstance(one, _NAMES) or not isinstance(other, _NAMES):
        return None
    path = roles.object(one, frame)
    if path == roles.object(other, frame):
        return None if path.is_summary else wanted
    sites = _made_at(one, frame, roles), _made_at(other, frame, roles)
    return None if None in sites or sites[0] is sites[1] else not wanted


def _made_at(expr: ast.expr, frame: Frame, roles: Roles) -> ast.Call | None:
    """The only allocation site of an object of a class of torch."""
    match roles.evaluator.values(expr, frame):
        case [ExternalResult(name=name, calls=[(made, _)])] if name.startswith("torch."):
            return made if name.rpartition(".")[2][:1].isupper() else None
    return None
