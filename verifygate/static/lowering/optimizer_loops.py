"""Loops over collections of optimizers: which elements they iterate over, and first/last-iteration predicates."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from verifygate.static.amp.roles import Roles
from verifygate.static.conditions.normal_form import MIRRORED
from verifygate.static.conditions.predicates import Fact, OneOf, Predicate
from verifygate.static.symbols.scopes import Binding
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.access_paths import AccessPath, Root
from verifygate.static.values.domain import Frame, Literal

_MAX_NAMES = 8
Loop = ast.For | ast.AsyncFor
_OPERATORS: dict[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_FILTERED = ast.ListComp | ast.SetComp | ast.GeneratorExp


def iterated_collections(loop: Loop, frame: Frame, roles: Roles) -> list[AccessPath]:
    """The collections of optimizers of which each iteration of the loop is about one element.

    It is by the variable of the loop (`for o in optimizers`), or by what it is the key of (`optimizers[name]`), also
    where the key is worked out of it (`optimizers[str(axis)]`): then no two iterations are taken to share one.
    """
    names = [part for part in walk(loop.target) if isinstance(part, ast.Name)]
    keys = {name.id for name in names}
    stepped, subscripts = _stepped(loop)
    bound = {node.value for node in walk(loop) if isinstance(node, ast.Assign) and _binds_one_of(stepped, node)}
    parts: list[ast.expr] = [name for name in names if _is_element(name, frame, roles, name.id in stepped)]
    if not parts:
        parts = [
            node
            for node in subscripts
            if any(isinstance(part, ast.Name) and part.id in keys for part in walk(node.slice))
            and _is_element(node, frame, roles, node in bound)
        ]
    return list(dict.fromkeys(roles.object(part, frame) for part in parts))


def is_keyed_by(loop: Loop, element: AccessPath, frame: Frame, roles: Roles) -> bool:
    """Whether each iteration surely has an element of its own: the variable of the loop, or what that is the key of."""
    keys = {part.id for part in walk(loop.target) if isinstance(part, ast.Name)}
    _, subscripts = _stepped(loop)
    computed = [each for each in subscripts if not (isinstance(each.slice, ast.Name) and each.slice.id in keys)]
    return all(roles.object(each, frame) is not element for each in computed)


def _binds_one_of(names: set[str], node: ast.Assign) -> bool:
    return any(isinstance(target, ast.Name) and target.id in names for target in node.targets)


def _is_element(expr: ast.expr, frame: Frame, roles: Roles, stepped: bool = False) -> bool:
    return roles.object(expr, frame).ends_in_any_element and (stepped or roles.is_optimizer(expr, frame))


@lru_cache(maxsize=128)  # a loop is resolved again from each call of its function
def _stepped(loop: Loop) -> tuple[set[str], list[ast.Subscript]]:
    """Names that the body of a loop passes to a `step` or an `unscale_`, as only optimizers are; and its subscripts."""
    stepped, subscripts = set(), []
    for statement in loop.body:
        for node in walk(statement):
            if node.__class__ is ast.Subscript:
                subscripts.append(node)
            elif node.__class__ is ast.Call and last_name(node.func) in ("step", "unscale_") and node.args:
                stepped |= {node.args[0].id} if isinstance(node.args[0], ast.Name) else set()
    return stepped, subscripts


def selection(iterable: ast.expr, frame: Frame, roles: Roles) -> tuple[ast.expr, Frame] | None:
    """The condition that selects what a loop iterates over (`[k for k in names if k in due]`); None where it is all."""
    expr, home = resolved(iterable, frame, roles)
    if isinstance(expr, _FILTERED):
        conditions = [condition for generator in expr.generators for condition in generator.ifs]
        if len(conditions) == 1:
            return conditions[0], home
    return None


def resolved(expr: ast.expr, frame: Frame, roles: Roles) -> tuple[ast.expr, Frame]:
    """Resolve a name to what it surely stands for: the argument for a parameter, its value where it is bound once."""
    for _ in range(_MAX_NAMES):
        binding, home = _only_binding(expr, frame, roles)
        if binding is None:
            break
        if binding.kind == "parameter":
            name = binding.node.arg  # type: ignore[attr-defined]
            default = home.function.default(name)
            if bound := home.arguments.get(name):
                expr, frame = bound.expr, bound.frame
            elif home.caller is not None and default is not None:
                expr, frame = default, roles.evaluator.module_frame(home.function.module)
            else:
                break
        elif binding.kind == "value" and binding.expr is not None:
            expr, frame = binding.expr, home
        else:
            break
    return expr, frame


def _only_binding(expr: ast.expr, frame: Frame, roles: Roles) -> tuple[Binding | None, Frame]:
    """The binding of a name, and the frame it belongs to; of several the innermost loop's that the name stands in."""
    found = roles.evaluator.lookup(expr.id, frame) if isinstance(expr, ast.Name) else None
    if found is None:
        return None, frame
    bindings, home = found
    if len(bindings) > 1:
        bindings = [each for each in bindings if isinstance(each.node, Loop) and _holds(each.node, expr)][-1:]
    return (bindings[0], home) if bindings else (None, home)


def _holds(loop: Loop, expr: ast.expr) -> bool:
    return loop.lineno <= expr.lineno <= (loop.end_lineno or 0)


# -- first and last iteration --------------------------------------------------------------------------------------


class _Counter(NamedTuple):
    """What is known of the variable of a `range`, or of the index of an `enumerate`."""

    loop: Loop
    start: int | None
    """Its value in the first iteration; None where the source does not tell."""
    ahead_of_last: int | None
    """What to add to its last value for `length`; None where that may not be the last."""
    length: ast.expr
    """The end of the range; the collection of an `enumerate`, whose length is meant."""
    rises: bool = True


def iteration_predicate(test: ast.expr, frame: Frame, roles: Roles) -> Fact | bool | None:
    """The predicate of the first or the last iteration that a condition is: `i == 0`, `i + 1 == len(optimizers)`.

    So too `i > 0` and `if i:`, which ask whether it is not the first. A bool where all iterations agree: `i >= 0`.
    """
    asked: tuple[tuple[ast.expr, ast.cmpop, ast.expr], ...]
    match test:
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in MIRRORED:
            asked = ((left, op, right), (right, MIRRORED[type(op)](), left))
        case ast.Name():
            asked = ((test, ast.NotEq(), ast.Constant(0)),)
        case _:
            return None
    for one, op, other in asked:
        number, ahead, home = _shifted(one, frame, roles)
        binding, _ = _only_binding(number, home, roles)
        if binding is None or (counter := _counter(binding, number, home, roles)) is None:
            continue
        index = roles.path(number, home)
        end, short, there = _shifted(other, frame, roles)
        text = f"{index} of line {counter.loop.lineno}"
        if isinstance(end, ast.Constant):
            if counter.start is None or type(end.value) is not int:
                return None
            first, later = _outcomes(op, end.value + short - ahead - counter.start, rises=counter.rises)
            if later is None or first is later:
                return later
            flag = AccessPath(Root("flag", f"first {text}"))
            among = OneOf(index, frozenset({repr(counter.start)}))
            return Predicate(str(flag), frozenset({flag}), loop=counter.loop, among=among), first
        is_last = ahead - short == counter.ahead_of_last and isinstance(op, ast.Eq | ast.NotEq)
        if is_last and _is_length(end, there, counter.length, home, roles):
            return Predicate(f"last {text}", frozenset({index}), loop=counter.loop), isinstance(op, ast.Eq)
    return None


def _outcomes(op: ast.cmpop, value: int, *, rises: bool) -> tuple[bool, bool | None]:
    """How the comparison of a counter that starts at 0 comes out in the first iteration, and in all later ones.

    None where these differ, or where it is not known whether the counter rises.
    """
    holds = _OPERATORS[type(op)]
    if not rises and (value or not isinstance(op, ast.Eq | ast.NotEq)):
        return holds(0, value), None
    later = {holds(each, value) for each in (1, value, value + 1) if each > 0}
    return holds(0, value), later.pop() if len(later) == 1 else None


def _shifted(expr: ast.expr, frame: Frame, roles: Roles) -> tuple[ast.expr, int, Frame]:
    """`i + 1` as i and 1, and the frame of i."""
    expr, frame = resolved(expr, frame, roles)
    if isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Add | ast.Sub):
        amounts = {value.value for value in roles.evaluator.values(expr.right, frame) if isinstance(value, Literal)}
        if len(amounts) == 1 and isinstance(amount := amounts.pop(), int):
            inner, more, home = _shifted(expr.left, frame, roles)
            return inner, more + (amount if isinstance(expr.op, ast.Add) else -amount), home
    return expr, 0, frame


def _counter(binding: Binding, number: ast.expr, frame: Frame, roles: Roles) -> _Counter | None:
    """The counter of a loop that a name is; None where it is none."""
    loop = binding.node
    if not isinstance(loop, Loop):
        return None
    match binding.expr:
        case ast.Call(func=ast.Name(id="range"), args=[end]) if binding.kind == "iteration":
            return _Counter(loop, 0, 1, end)
        case ast.Call(func=ast.Name(id="range"), args=[first, end, *step]) if binding.kind == "iteration":
            by = _whole_number(step[0], frame, roles) if step else 1
            return _Counter(loop, _whole_number(first, frame, roles), 1 if by == 1 else None, end, (by or 0) > 0)
    match loop.target, loop.iter:
        case ast.Tuple(elts=[ast.Name(id=name), _]), ast.Call(func=ast.Name(id="enumerate"), args=[of, *given]) if (
            isinstance(number, ast.Name) and number.id == name
        ):
            given += [word.value for word in loop.iter.keywords]
            start = _whole_number(given[0], frame, roles) if given else 0
            return _Counter(loop, start, None if start is None else 1 - start, of)
    return None


def _whole_number(expr: ast.expr, frame: Frame, roles: Roles) -> int | None:
    """The one whole number that an expression surely is."""
    match roles.evaluator.values(expr, frame):
        case [Literal(value=int() as value)]:
            return value
    return None


def _is_length(end: ast.expr, frame: Frame, counted: ast.expr, home: Frame, roles: Roles) -> bool:
    """Whether `end` is how many iterations there are: `len` of the collection, or the same number as in `range`."""
    counted, home = resolved(counted, home, roles)
    if isinstance(end, ast.Call) and last_name(end.func) == "len" and len(end.args) == 1:
        length, frame = end.args[0], frame
        if isinstance(counted, ast.Call) and last_name(counted.func) == "len" and len(counted.args) == 1:
            counted = counted.args[0]
        return roles.path(length, frame) == roles.path(counted, home)
    return isinstance(end, ast.Name | ast.Attribute) and roles.path(end, frame) == roles.path(counted, home)
