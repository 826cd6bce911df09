"""Conditions in canonical form, so that `if use_amp:` three times in a row is two paths and not eight."""

from __future__ import annotations

import ast

from verifygate import torch_names
from verifygate.static.amp.roles import Roles
from verifygate.static.conditions.predicates import AtLeast, Fact, OneOf, Predicate, Remainder
from verifygate.static.conditions.purity import answer, gives_the_same, question, read_by
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.access_paths import AccessPath, Root
from verifygate.static.values.domain import Bound, Frame, FunctionValue, Object

_BOOLEAN = ast.Compare | ast.BoolOp | ast.UnaryOp
MIRRORED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE, ast.Eq: ast.Eq, ast.NotEq: ast.NotEq
}  # fmt: skip
"""A comparison -> the same one with its sides exchanged."""
_MAX_EXPANSIONS = 6
_MAX_NAMES = 100
"""Names that one condition is followed through; past it they are told by what they are called."""


class _Reading:
    """What one condition reads, and how many names may still be followed to what they stand for."""

    def __init__(self) -> None:
        self.paths: set[AccessPath] = set()
        self.left = _MAX_NAMES


def expand(test: ast.expr, frame: Frame, roles: Roles, expansions: int = 0) -> tuple[ast.expr, Frame]:
    """Follow a name that is bound once to a condition (`use_amp = device.type == "cuda"`) to that condition.

    So too a method that only gives one: `return self.device.type == "cuda"`.
    """
    if isinstance(test, ast.Name) and expansions < _MAX_EXPANSIONS:
        found = roles.evaluator.lookup(test.id, frame)
        if found is not None and len(found[0]) == 1:
            binding, home = found[0][0], found[1]
            if binding.kind == "value" and binding.expr is not None and _is_kept(binding.expr, home, roles):
                return binding.expr, home
            if binding.kind == "parameter" and (bound := home.arguments.get(test.id)):
                return expand(bound.expr, bound.frame, roles, expansions + 1)
    if isinstance(test, ast.Call) and expansions < _MAX_EXPANSIONS and (asked := question(test, frame, roles)):
        said = answer(asked)
        if said is not None and is_kept(said, asked, roles):
            return expand(said, asked, roles, expansions + 1)
    return test, frame


def _is_kept(expr: ast.expr, home: Frame, roles: Roles) -> bool:
    """Whether a name stands for a condition, and asking that now gives what it gave when the name was bound.

    Not where a name in it is bound more than once: its value then and now may differ.
    """
    return isinstance(expr, _BOOLEAN | ast.Call) and is_kept(expr, home, roles)


def is_kept(expr: ast.expr, home: Frame, roles: Roles) -> bool:
    """Whether a condition, asked once more, gives what it gave the first time."""
    names = home.function.scope.names
    return all(
        len(names.get(node.id, ())) <= 1 if isinstance(node, ast.Name) else _is_stable(node, home, roles)
        for node in walk(expr)
        if isinstance(node, ast.Name | ast.Call)
    )


def fact_of(test: ast.expr, frame: Frame, roles: Roles) -> Fact:
    """The atom of a condition without `and`, `or` and `not`, and which way round the condition asks for it."""
    if found := remainder_fact(test, frame, roles):
        return found
    match test:
        case ast.Compare(left=left, ops=[op], comparators=[ast.Constant(value=None)]):
            atom = _atom(left, frame, roles)
            return atom, isinstance(op, ast.IsNot | ast.NotEq)
        case ast.Call(func=ast.Name(id="isinstance"), args=[asked, kind]) if _is_scaler_class(kind, frame, roles):
            return _atom(asked, frame, roles), True  # a scaler, or None
        case ast.Compare(left=left, ops=[op], comparators=[ast.Constant(value=bool() as truth)]):
            atom = _atom(left, frame, roles)
            return atom, truth is isinstance(op, ast.Is | ast.Eq)
        case ast.Compare(left=left, ops=[ast.NotEq()], comparators=[right]):
            same = ast.copy_location(ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]), test)
            return _atom(same, frame, roles), False
        case ast.Compare(left=left, ops=[ast.NotIn()], comparators=[right]):
            inside = ast.copy_location(ast.Compare(left=left, ops=[ast.In()], comparators=[right]), test)
            return _atom(inside, frame, roles), False
        case ast.Compare(left=left, ops=[ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE() as op], comparators=[right]):
            ordered, wanted = _ordered(left, op, right)
            return _atom(ast.copy_location(ordered, test), frame, roles), wanted
    return _atom(test, frame, roles), True


def _ordered(left: ast.expr, op: ast.cmpop, right: ast.expr) -> tuple[ast.Compare, bool]:
    """One of the four orders as one of two: `x < 3` as not `x >= 3`, `a >= b` as not `a < b`. NaN is in no order."""
    number = _number(right) is not None
    mirrored = not number and (_number(left) is not None or isinstance(op, ast.Gt | ast.LtE))
    if mirrored:
        left, op, right = right, MIRRORED[type(op)](), left
    kept: type[ast.cmpop] = type(op)
    if number or _number(right) is not None:
        kept = {ast.Lt: ast.GtE, ast.LtE: ast.Gt}.get(kept, kept)
    elif isinstance(op, ast.GtE):
        kept = ast.Lt
    return ast.Compare(left=left, ops=[kept()], comparators=[right]), kept is type(op)


def is_of_what_is_not_there(handler: ast.ExceptHandler) -> bool:
    """Whether a handler takes the place of what a class leaves out: each time, or never, as long as the class is one.

    `try: loss = model.optimize(batch)`, `except NotImplementedError: loss = optimize(model, batch)`.
    """
    return handler.type is not None and last_name(handler.type) == "NotImplementedError"


def class_chosen(callee: FunctionValue, call: ast.Call, frame: Frame, roles: Roles) -> Predicate | None:
    """Of which class the object is whose method a call runs: the same one for all that is called on it."""
    if not isinstance(call.func, ast.Attribute):
        return None
    holder, name, owner = call.func.value, call.func.attr, callee.function.owner
    path, own = roles.path(holder, frame), frame.function
    made = {value.made for value in roles.evaluator.values(holder, frame) if isinstance(value, Object)}
    if owner is not None and owner not in made:  # only a class above is named, which leaves the method to these
        made = {below for each in made for below in roles.evaluator.below(each)}
    of_it = frozenset(
        f"{each.module.path}:{each.symbol}"
        for each in made
        if next((base for base in roles.evaluator.linearised(each) if name in base.methods), None) is owner
    )
    if of_it:
        return Predicate(f"{path} is {' or '.join(sorted(of_it))}", frozenset({path}), among=OneOf(path, of_it))
    first = own.parameters[0].arg if own.owner and own.parameters and not own.is_static else ""
    if owner is None or not isinstance(holder, ast.Name) or holder.id != first:
        return None
    asked = path.attribute(name)  # the method of a class that derives from the one in sight
    found = callee.function.key
    return Predicate(f"{asked} is {found}", among=OneOf(asked, frozenset({found})))


def definition_chosen(callee: FunctionValue, call: ast.Call, frame: Frame, roles: Roles) -> Fact | None:
    """What the function asked before it defined, under the name that a call runs, this function and not another."""
    if not isinstance(call.func, ast.Name):
        return None
    for branch in frame.function.of_kind(ast.If):
        arms = (branch.body, branch.orelse)
        if isinstance(branch.test, ast.BoolOp) or not all(_defines(call.func.id, arm) for arm in arms):
            continue
        for arm, truth in zip(arms, (True, False), strict=True):
            if callee.function.node in arm:
                atom, wanted = fact_of(branch.test, frame, roles)
                return atom, wanted is truth
    return None


def operand_chosen(callee: FunctionValue, call: ast.Call, frame: Frame, roles: Roles) -> Fact | None:
    """What was asked where a name was bound to this function or another: `step = amp_step if use_amp else step`."""
    match roles.evaluator.sources(call.func, frame):
        case [Bound(expr=ast.IfExp() as choice, frame=home)]:
            pass
        case _:
            return None
    runs = []
    for operand in (choice.body, choice.orelse):
        called = ast.copy_location(ast.Call(operand, call.args, call.keywords), call)
        runs.append(any(each.function is callee.function for each in roles.evaluator.callees(called, home)))
    if runs[0] == runs[1] or isinstance(choice.test, ast.BoolOp):
        return None
    atom, wanted = fact_of(choice.test, home, roles)
    return atom, wanted is runs[0]


def _defines(name: str, statements: list[ast.stmt]) -> bool:
    return any(isinstance(each, ast.FunctionDef) and each.name == name for each in statements)


def _is_scaler_class(kind: ast.expr, frame: Frame, roles: Roles) -> bool:
    return roles.known_name(kind, frame) in torch_names.GRAD_SCALERS


def remainder_fact(test: ast.expr, frame: Frame, roles: Roles) -> Fact | None:
    """The first or the last iteration of a window, where a condition asks for it: `i % n == 0`, `(i + 1) % n == 0`."""
    match test:
        case ast.Compare(
            left=ast.BinOp(op=ast.Mod()) as remainder, ops=[ast.Eq() | ast.NotEq() as op], comparators=[at]
        ):
            wanted = isinstance(op, ast.Eq)
        case ast.BinOp(op=ast.Mod()) as remainder:
            at, wanted = ast.Constant(0), False
        case _:
            return None
    reading = _Reading()
    length = _canonical(remainder.right, frame, roles, reading)
    counter, ahead = _shifted(remainder.left)
    end, back = _shifted(at)
    if isinstance(end, ast.Constant) and isinstance(end.value, int):
        turn = end.value + back - ahead
    elif _canonical(end, frame, roles, reading) == length:
        turn = back - ahead
    else:
        return None
    if turn not in (0, -1) or not isinstance(counter, ast.Name | ast.Attribute):
        return None
    path = _subject(counter, frame, roles, reading)
    asked = Remainder(f"({path} Mod {length})", path, closes=turn == -1)
    text = f"{'last' if asked.closes else 'first'} turn of {asked.text}"
    return Predicate(text, frozenset(reading.paths), remainder=asked), wanted


def _shifted(expr: ast.expr) -> tuple[ast.expr, int]:
    """`i + 1` as i and 1."""
    match expr:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=ast.Constant(value=int(amount))):
            return left, amount if isinstance(op, ast.Add) else -amount
    return expr, 0


def gradients_there(test: ast.expr) -> bool | None:
    """What comes of a condition that only asks whether there are gradients: where there are none, nothing is done."""
    match test:
        case ast.Compare(left=ast.Attribute(attr="grad"), ops=[op], comparators=[ast.Constant(value=None)]):
            return isinstance(op, ast.IsNot | ast.NotEq)
        case ast.Call(func=ast.Name(id="any" | "all"), args=[ast.GeneratorExp(elt=inner) | ast.ListComp(elt=inner)]):
            return gradients_there(inner)
    return None


def is_finite_check(test: ast.expr) -> bool:
    """Whether a condition asks for inf or NaN."""
    text = ast.unparse(test)
    return any(word in text for word in torch_names.FINITE_WORDS)


def is_about_all(test: ast.expr) -> bool:
    """Whether a condition on a parameter picks all that are trained."""
    return gradients_there(test) is not None or last_name(test) == "requires_grad"


def _atom(expr: ast.expr, frame: Frame, roles: Roles) -> Predicate:
    reading = _Reading()
    text = _canonical(expr, frame, roles, reading)
    opaque = any(isinstance(node, ast.Call) and not _is_stable(node, frame, roles) for node in walk(expr))
    if opaque:
        return Predicate(text, frozenset(reading.paths), opaque, site=(expr.lineno, expr.col_offset))
    return Predicate(text, frozenset(reading.paths), among=_among(expr, frame, roles))


def _among(expr: ast.expr, frame: Frame, roles: Roles) -> OneOf | AtLeast | None:
    """The constants that a condition compares a value with: a value that is one of them is no other."""
    match expr:
        case ast.Compare(left=ast.Name() | ast.Attribute() | ast.Subscript() as asked, ops=[op], comparators=[end]) if (
            isinstance(op, ast.GtE | ast.Gt) and (number := _number(end)) is not None
        ):
            return AtLeast(_subject(asked, frame, roles, _Reading()), (number, isinstance(op, ast.Gt)))
        case ast.Compare(left=asked, ops=[ast.Eq() | ast.Is()], comparators=[constant]):
            asked, constant = (asked, constant) if _constant(asked) is None else (constant, asked)
            listed = [constant]
        case ast.Compare(left=asked, ops=[ast.In()], comparators=[ast.Tuple() | ast.List() | ast.Set() as several]):
            listed = several.elts
        case _:
            return None
    constants = frozenset(text for each in listed if (text := _constant(each)) is not None)
    if len(constants) != len(listed) or not isinstance(asked, ast.Name | ast.Attribute | ast.Subscript):
        return None
    return OneOf(_subject(asked, frame, roles, _Reading()), constants)


def _number(expr: ast.expr) -> float | None:
    """The number that is written: `3`, `-1`, `0.5`."""
    match expr:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
    return None


def _constant(expr: ast.expr) -> str | None:
    """A string, a number or a member of an enumeration, `Mode.APEX`, told by how they are spelled."""
    match expr:
        case ast.Constant(value=str() | int() as value) if not isinstance(value, bool):
            return repr(value)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as value)) if not isinstance(value, bool):
            return repr(-value)
        case ast.Attribute(value=ast.Name() | ast.Attribute() as holder, attr=member) if member.isupper():
            name = last_name(holder)
            return f"{name}.{member}" if name[:1].isupper() and not name.isupper() else None
    return None


def _is_stable(call: ast.Call, frame: Frame, roles: Roles) -> bool:
    """Whether a call gives the same each time: a question about a type, or how many optimizers there are."""
    if gives_the_same(call):
        return True
    counts = last_name(call.func) == "len" and len(call.args) == 1 and roles.is_optimizer(call.args[0], frame)
    return counts or question(call, frame, roles) is not None


def _subject(expr: ast.expr, frame: Frame, roles: Roles, reading: _Reading) -> AccessPath:
    """What a condition is about: a variable, or what its only value computes (`index` that is passed `step - 1`)."""
    text = _canonical(expr, frame, roles, reading)
    expanded, home = expr, frame
    while (further := expand(expanded, home, roles))[0] is not expanded:
        expanded, home = further
    if isinstance(expanded, ast.Name | ast.Attribute | ast.Subscript):
        return roles.path(expanded, home)
    return AccessPath(Root("expression", text))


def _canonical(expr: ast.expr, frame: Frame, roles: Roles, reading: _Reading) -> str:
    expanded, home = expand(expr, frame, roles) if reading.left else (expr, frame)
    if expanded is not expr:
        reading.left -= 1
        return _canonical(expanded, home, roles, reading)
    match expr:
        case ast.Name() | ast.Attribute() | ast.Subscript():
            path = roles.path(expr, frame)
            reading.paths.add(path)
            return str(path)
        case ast.Constant():
            return repr(expr.value)
        case ast.Compare(left=left, ops=ops, comparators=rights):
            parts = [_canonical(left, frame, roles, reading)]
            for op, right in zip(ops, rights, strict=True):
                parts += [type(op).__name__, _canonical(right, frame, roles, reading)]
            return f"({' '.join(parts)})"
        case ast.BinOp():
            left_text = _canonical(expr.left, frame, roles, reading)
            return f"({left_text} {type(expr.op).__name__} {_canonical(expr.right, frame, roles, reading)})"
        case ast.Call():
            arguments = [_canonical(argument, frame, roles, reading) for argument in expr.args]
            if asked := question(expr, frame, roles):
                reading.paths.update(read_by(asked, roles.path))
            return f"{_canonical(expr.func, frame, roles, reading)}({', '.join(arguments)})"
    reading.paths.update(roles.path(node, frame) for node in walk(expr) if isinstance(node, ast.Name))
    return ast.unparse(expr)
