"""Settings that the program itself forbids together: `assert n_heads % n_kv_heads == 0`, `if a > b: raise`.

Each setting alone fits its option. What a program asks of several together stands in its asserts, and in the conditions
under which it raises. Where a proposal breaks one that the defaults meet, the options in it stay as they are.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from verifygate.programs.option import NOT_KNOWN, Option
from verifygate.programs.small_settings import Proposal
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name

Values = Mapping[str, object]
"""Name of an option -> its value."""
_DEPTH = 6
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
}  # fmt: skip
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt,
    ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip


def agreeing(small: list[Proposal], options: Iterable[Option], functions: Iterable[Function]) -> list[Proposal]:
    """The proposals without those that the program refuses beside its other settings."""
    defaults = {each.name: each.default for each in options if each.default is not NOT_KNOWN}
    asked = [(test, holds, function) for function in functions for test, holds in _conditions(function)]
    kept = list(small)
    while broken := _broken(defaults, kept, asked):
        kept = [each for each in kept if each.option.name not in broken]
    return kept


def _broken(
    defaults: Values, small: Iterable[Proposal], asked: Iterable[tuple[ast.expr, bool, Function]]
) -> frozenset[str]:
    """The proposed options in the first condition that the proposals break, and the defaults do not."""
    given = {each.option.name: _number(each.value) for each in small}
    for test, holds, function in asked:
        named = frozenset(_named(test, function)) & given.keys()
        met, now = (_truth(_value(test, values, function)) for values in (defaults, {**defaults, **given}))
        if named and now is (not holds) and met is not now:
            return named
    return frozenset()


def _conditions(function: Function) -> Iterator[tuple[ast.expr, bool]]:
    """Each condition that must be so, or must not, for the program to go on."""
    for asserted in function.of_kind(ast.Assert):
        yield asserted.test, True
    for branch in function.of_kind(ast.If):
        if isinstance(branch.body[0], ast.Raise):
            yield branch.test, False


def _truth(value: object) -> bool | None:
    return None if value is NOT_KNOWN else bool(value)


def _number(given: object) -> object:
    """A value as the program reads it: a proposal's is a word of the command line."""
    if isinstance(given, str):
        try:
            return int(given)
        except ValueError:
            return given
    return given


def _named(node: ast.expr, function: Function, depth: int = 0) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Name | ast.Attribute):
            yield last_name(each)
            if isinstance(each, ast.Name) and depth < _DEPTH and (bound := _bound(each.id, function)) is not None:
                yield from _named(bound, function, depth + 1)


def _bound(name: str, function: Function) -> ast.expr | None:
    """What a function binds a name to, where it does so once."""
    found = [
        each.value
        for each in function.of_kind(ast.Assign)
        if any(isinstance(target, ast.Name) and target.id == name for target in each.targets)
    ]
    return found[0] if len(found) == 1 else None


def _value(node: ast.expr, values: Values, function: Function, depth: int = 0) -> object:
    """What an expression over options is; NOT_KNOWN where it takes more than arithmetic to tell."""
    if depth > _DEPTH:
        return NOT_KNOWN

    def of(inner: ast.expr) -> object:
        return _value(inner, values, function, depth + 1)

    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name() | ast.Attribute() if last_name(node) in values:
            return values[last_name(node)]
        case ast.Name(id=name) if (bound := _bound(name, function)) is not None:
            return of(bound)
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            found = of(inner)
            return NOT_KNOWN if found is NOT_KNOWN else not found
        case ast.BoolOp(op=op, values=parts):
            return _joined([of(each) for each in parts], every=isinstance(op, ast.And))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _computed(_OPERATORS[type(op)], of(left), of(right))
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARISONS:
            return _computed(_COMPARISONS[type(op)], of(left), of(right))
    return NOT_KNOWN


def _joined(parts: list[object], *, every: bool) -> object:
    """`and`, or `or`, of parts of which some may not be known."""
    known = [bool(each) for each in parts if each is not NOT_KNOWN]
    if (not every) in known:
        return not every
    return every if len(known) == len(parts) else NOT_KNOWN


def _computed(how: Callable[[Any, Any], object], left: object, right: object) -> object:
    """An operation on two numbers; NOT_KNOWN on anything else."""
    if not all(isinstance(each, int | float) for each in (left, right)):
        return NOT_KNOWN
    try:
        return how(left, right)
    except (ArithmeticError, ValueError):
        return NOT_KNOWN
