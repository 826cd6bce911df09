"""Whether something is there at all: what is built under a condition, and None otherwise, is there where that holds.

`self.scaler = GradScaler() if self.use_amp else None` makes `if self.scaler is None:` and `if self.use_amp:` one
question, which has one answer, wherever either is asked.
"""

from __future__ import annotations

import ast

from verifygate.base.records import replace
from verifygate.static.amp.roles import Roles
from verifygate.static.conditions.normal_form import is_kept
from verifygate.static.symbols.program import Function
from verifygate.static.symbols.scopes import Binding
from verifygate.static.values.domain import Bound, Frame, Literal, Object, truth_of

_MAX_ALIASES = 6
_Bindings = list[tuple[Binding, Frame]]


def asked_of(test: ast.expr, frame: Frame, roles: Roles) -> Bound | None:
    """The condition under which something was built, where `test` asks whether it was; None for any other question."""
    match test:
        case ast.Compare(left=left, ops=[ast.IsNot() | ast.NotEq()], comparators=[ast.Constant(value=None)]):
            return _built_if(left, frame, roles)
        case ast.Compare(left=left, ops=[ast.Is() | ast.Eq()], comparators=[ast.Constant(value=None)]):
            found = _built_if(left, frame, roles)
            return Bound(_denied(found.expr), found.frame) if found else None
        case ast.Attribute() | ast.Name():
            return _built_if(test, frame, roles)
    return None


def perhaps_none(call: ast.Call, frame: Frame, roles: Roles) -> ast.expr | None:
    """What a method is called on, where that is a scaler in some runs and None in others."""
    match call.func:
        case ast.Attribute(value=ast.Name() | ast.Attribute() as holder):
            values = roles.evaluator.values(holder, frame)
            none = any(isinstance(value, Literal) and value.value is None for value in values)
            return holder if none and roles.scaler(holder, frame) is not None else None
    return None


def _built_if(expr: ast.expr, frame: Frame, roles: Roles) -> Bound | None:
    condition = _condition(_bindings(expr, frame, roles), roles)
    if condition is None or not is_kept(condition.expr, condition.frame, roles):
        return None
    return condition if _is_settled(condition, roles) else None


def _condition(bindings: _Bindings, roles: Roles) -> Bound | None:
    """The condition of which it depends, of all that gives it a value, whether it is something or None."""
    match [(each.expr, home) for each, home in bindings if each.kind == "value"]:
        case [(ast.IfExp(test=test, body=body, orelse=orelse), home)] if len(bindings) == 1:
            pass
        case [(first, home), (second, other)] if (
            first and second and home.function is other.function and len(bindings) == 2
        ):
            chosen = _of_two(first, second, home.function) or _of_two(second, first, home.function)
            if chosen is None:
                return None
            test, body, orelse = chosen
        case _:
            return None
    if _is_none(orelse) and _is_there(body, home, roles):
        return Bound(test, home)
    if _is_none(body) and _is_there(orelse, home, roles):
        return Bound(_denied(test), home)
    return None


def _of_two(built: ast.expr, other: ast.expr, function: Function) -> tuple[ast.expr, ast.expr, ast.expr] | None:
    """The condition of `if amp: x = Scaler()` with `else: x = None`, or behind `x = None` in the same block."""
    for node in function.of_kind(ast.If):
        if not _binds(node.body, built):
            continue
        if _binds(node.orelse, other):
            return node.test, built, other
        block = next((each for each in _blocks(function) if any(part is node for part in each)), [])
        before = block[: next((n for n, part in enumerate(block) if part is node), 0)]
        return (node.test, built, other) if not node.orelse and _is_none(other) and _binds(before, other) else None
    return None


def _blocks(function: Function) -> list[list[ast.stmt]]:
    """The statements of a function, block by block."""
    holders = (function.node, *function.own_nodes)
    fields = (getattr(each, name, None) for each in holders for name in ("body", "orelse", "finalbody"))
    return [block for block in fields if isinstance(block, list)]


def _binds(block: list[ast.stmt], value: ast.expr) -> bool:
    return any(isinstance(each, ast.Assign | ast.AnnAssign) and each.value is value for each in block)


def _bindings(expr: ast.expr, frame: Frame, roles: Roles, aliases: int = 0) -> _Bindings:
    """All that gives an attribute, or a variable of a module, its value; nothing where that cannot be told.

    Not of a function's own variables: what those are is known from the way that leads to the question.
    """
    evaluator = roles.evaluator
    if isinstance(expr, ast.Attribute):
        match evaluator.values(expr.value, frame):
            case [Object(call=call) as value]:
                return [
                    (binding, _on_receiver(evaluator.defining_frame(owner, of, call), Bound(expr.value, frame)))
                    for binding, owner, _, of in evaluator.hierarchy.bindings(value, expr, frame)
                    if owner is not None
                ][:3]
    if isinstance(expr, ast.Name) and aliases < _MAX_ALIASES and (found := evaluator.lookup(expr.id, frame)):
        bindings, home = found
        if len(bindings) == 1 and isinstance(bindings[0].expr, ast.Name | ast.Attribute):
            return _bindings(bindings[0].expr, home, roles, aliases + 1)
        if len(bindings) == 1 and bindings[0].kind == "parameter" and (bound := home.arguments.get(expr.id)):
            return _bindings(bound.expr, bound.frame, roles, aliases + 1)
        if home.function.node is home.function.module.tree:
            return [(each, home) for each in bindings]
    return []


def _on_receiver(frame: Frame, receiver: Bound) -> Frame:
    """The frame in which an object was given its attributes, with the object named as it is here."""
    return replace(frame, receiver=receiver, memo={}, callees={}, constructed={})


def _is_settled(condition: Bound, roles: Roles) -> bool:
    """Whether nothing that the condition asks about is set anew elsewhere: then it may say another thing by now."""
    for node in ast.walk(condition.expr):
        if isinstance(node, ast.Attribute):
            for value in roles.evaluator.values(node.value, condition.frame):
                if not isinstance(value, Object):
                    continue
                if len(list(roles.evaluator.hierarchy.bindings(value, node, condition.frame))) > 1:
                    return False
    return True


def _is_there(expr: ast.expr, frame: Frame, roles: Roles) -> bool:
    """Whether something surely counts as true: an object that a class of torch makes."""
    return all(truth_of(value) for value in roles.evaluator.values(expr, frame))


def _is_none(expr: ast.expr) -> bool:
    return isinstance(expr, ast.Constant) and expr.value is None


def _denied(test: ast.expr) -> ast.expr:
    return ast.copy_location(ast.UnaryOp(op=ast.Not(), operand=test), test)
