"""One pass over the functions of a module: what each does with each variable, and where the value goes from there."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator

from verifygate.base.records import field, record
from verifygate.static.symbols.program import Function
from verifygate.static.symbols.scopes import bound_targets
from verifygate.static.uses.roles import Use, use_of
from verifygate.static.uses.variables import Variable, variable


@record(eq=False, frozen=False)
class Observed:
    """What is seen of one variable."""

    uses: Use = Use.NONE
    stepped_by: list[tuple[ast.expr, Function]] = field(default_factory=list)
    """What it is handed to for a step: `scaler` in `scaler.step(x)`."""
    passed: list[tuple[ast.Call, ast.expr, Function]] = field(default_factory=list)
    """The calls that it is an argument of."""
    gives: list[Variable] = field(default_factory=list)
    """The variables that its value is assigned to."""
    takes: list[Variable] = field(default_factory=list)
    """The one variable whose value it has, where nothing else is ever assigned to it."""
    scaled_by: list[Variable] = field(default_factory=list)
    """Whose `scale` has made it."""


Table = dict[Variable, Observed]


def observed(functions: Iterable[Function]) -> Table:
    """What these functions do with their variables, and with those around them."""
    table: Table = {}
    for function in functions:
        for call in function.calls:
            _add_call(call, function, table)
        for each in function.of_kind(ast.Attribute):
            if each.attr == "param_groups":
                _note(each.value, Use.HAS_GROUPS, function, table)
        _add_assignments(function, table)
    for seen in list(table.values()):
        for scaler in seen.scaled_by if seen.uses & Use.GOES_BACK else ():
            table.setdefault(scaler, Observed()).uses |= Use.SCALES_A_BACKWARD
        for holder, function in seen.stepped_by if seen.uses & Use.ZEROES else ():
            _note(holder, Use.STEPS_A_ZEROED, function, table)
    return table


def _note(expr: ast.expr, use: Use, function: Function, table: Table) -> Observed | None:
    found = variable(expr, function)
    if found is None or not found.path:
        return None
    seen = table.setdefault(found, Observed())
    seen.uses |= use
    return seen


def _add_call(call: ast.Call, function: Function, table: Table) -> None:
    _note(call.func, Use.RUNS, function, table)
    given = [*call.args, *(word.value for word in call.keywords)]
    for each in given:
        if isinstance(each, ast.Name | ast.Attribute | ast.Subscript) and (
            seen := _note(each, Use.NONE, function, table)
        ):
            seen.passed.append((call, each, function))
    if not isinstance(call.func, ast.Attribute):
        return
    holder = call.func.value
    optimizer = call.args[0] if call.args else None
    optimizer = next((word.value for word in call.keywords if word.arg == "optimizer"), optimizer)
    use = use_of(call.func.attr, len(call.args), len(given), steps_another=optimizer is not None)
    if use:
        _note(holder, use, function, table)
    match use:
        case Use.UNSCALES:
            for each in given[:1]:
                _note(each, Use.IS_UNSCALED, function, table)
        case Use.STEPS_ANOTHER if optimizer is not None:
            if seen := _note(optimizer, Use.NONE, function, table):
                seen.stepped_by.append((holder, function))
        case Use.GOES_BACK:
            if isinstance(holder, ast.Call) and isinstance(holder.func, ast.Attribute) and holder.func.attr == "scale":
                _note(holder.func.value, Use.SCALES_A_BACKWARD, function, table)


def _add_assignments(function: Function, table: Table) -> None:
    bound = [
        (target, source, scaler)
        for at, binding in bound_targets(function.own_nodes)
        if (target := variable(at, function)) is not None and target.path
        for source, scaler in _sources(binding.kind, binding.expr, function)
    ]
    times = Counter(target for target, _, _ in bound)
    for target, source, scaler in bound:
        if scaler is not None:
            table.setdefault(target, Observed()).scaled_by.append(scaler)
        if source is not None and source.path:
            table.setdefault(source, Observed()).gives.append(target)
            if times[target] == 1:
                table.setdefault(target, Observed()).takes.append(source)


def _sources(kind: str, expr: ast.expr | None, function: Function) -> Iterator[tuple[Variable | None, Variable | None]]:
    """The variables whose values a binding gives; for a scaled loss, whose `scale` has made it."""
    if expr is None:
        yield None, None
    elif kind in ("iteration", "entry"):
        container = variable(expr, function)
        yield (container.element if container is not None else None), None
    elif kind != "value":
        yield None, None
    else:
        match expr:
            case ast.Call(func=ast.Attribute(value=holder, attr="scale")):
                yield None, variable(holder, function)
            case ast.IfExp(body=one, orelse=other) | ast.BoolOp(values=[one, other]):
                yield variable(one, function), None
                yield variable(other, function), None
            case _:
                yield variable(expr, function), None
