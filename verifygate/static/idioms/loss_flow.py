"""Losses on their way to a backward in another function: returned to who calls, or handed to what is called."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from verifygate.base.records import record
from verifygate.static.amp.roles import identifiers
from verifygate.static.analysis import Analysis
from verifygate.static.facts.step_tensors import is_loss_call, names_in
from verifygate.static.symbols.program import Function
from verifygate.static.symbols.scopes import bound_targets
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk

_MAX_CALLS = 3
_OF_TENSORS = frozenset({"to", "cuda", "cpu", "float", "long", "half", "detach", "clone", "view", "reshape", "squeeze"})
"""Methods that move, cast or reshape what is there: none of them runs a model."""


@record
class Backward:
    """A backward of a loss that another function computed."""

    call: ast.Call
    function: Function
    through: tuple[Function, ...]
    """The functions that the loss passes through, that of the backward last."""


def backwards(names: frozenset[str], function: Function, analysis: Analysis) -> Iterator[Backward]:
    """The backwards in other functions of what a function computes under some names, nearest first."""
    queue: list[tuple[frozenset[str], tuple[Function, ...]]] = [(_all(names, function, analysis), (function,))]
    seen = {function}
    while queue:
        held, through = queue.pop(0)
        here = through[-1]
        for call in here.calls if len(through) > 1 else ():
            if last_name(call.func) == "backward" and identifiers(call.func) & held and not _scales(call):
                yield Backward(call, here, through)
        if len(through) > _MAX_CALLS:
            continue
        for found, after in (*_returned(held, here, analysis), *_handed(held, here, analysis)):
            if after not in seen:
                seen.add(after)
                queue.append((_all(found, after, analysis), (*through, after)))


def _returned(
    held: frozenset[str], function: Function, analysis: Analysis
) -> Iterator[tuple[frozenset[str], Function]]:
    """What the callers of a function call the part of its result that is one of the names."""
    positions: set[int] = set()
    for each in function.returns:
        parts = each.elts if isinstance(each, ast.Tuple) else [each]
        matching = {index for index, part in enumerate(parts) if set(names_in(part)) & held}
        positions |= matching if isinstance(each, ast.Tuple) else ({-1} if matching else set())
    for site in analysis.call_graph.sites(function) if positions else ():
        outer = analysis.enclosing.parent(site.call, site.caller)
        targets = outer.targets if isinstance(outer, ast.Assign) else []
        found = {name for target in targets for name in _bound(target, positions)}
        if found and not site.caller.module.file.is_test:
            yield frozenset(found), site.caller


def _bound(target: ast.expr, positions: set[int]) -> Iterator[str]:
    if isinstance(target, ast.Name) and -1 in positions:
        yield target.id
    elif isinstance(target, ast.Tuple):
        yield from (
            part.id for index, part in enumerate(target.elts) if isinstance(part, ast.Name) and index in positions
        )


def _handed(held: frozenset[str], function: Function, analysis: Analysis) -> Iterator[tuple[frozenset[str], Function]]:
    """The parameters by which the functions that are called get one of the names."""
    for call in function.calls:
        given = [*call.args, *(word.value for word in call.keywords)]
        if not any(isinstance(each, ast.Name) and each.id in held for each in given):
            continue
        for entered in analysis.call_graph.entered(call, function):
            found = {
                name
                for name, bound in entered.arguments.items()
                if isinstance(bound.expr, ast.Name) and bound.expr.id in held and bound.frame.function is function
            }
            if found:
                yield frozenset(found), entered.function


def _scales(call: ast.Call) -> bool:
    return any(isinstance(node, ast.Attribute) and node.attr == "scale" for node in walk(call))


def _all(names: frozenset[str], function: Function, analysis: Analysis) -> frozenset[str]:
    return names | worked_out_from(names, function, analysis)[0]


def worked_out_from(names: Iterable[str], function: Function, analysis: Analysis) -> tuple[set[str], bool]:
    """The names, and those that the function gives what is made of them, as long as gradients lead back.

    With whether nothing else in it may have gradients: no other model has been at work.
    """
    bound = bound_exprs(function)
    found, others, before = set(names), set[str](), -1
    while len(found) > before:
        before = len(found)
        for name, exprs in bound.items():
            for expr in exprs:
                sources = set(names_in(expr))
                if name not in found and sources & found and not _runs_a_model(expr, found, function, analysis):
                    found.add(name)
                    others |= sources
    mixed = (expr for name in others - found for expr in bound.get(name, ()))
    return found, not any(_runs_a_model(expr, found, function, analysis) for expr in mixed)


def _runs_a_model(expr: ast.expr, tensors: set[str], function: Function, analysis: Analysis) -> bool:
    """Whether an expression calls what may bring weights of its own: no tensor's method, no loss, nothing of torch."""
    frame = analysis.evaluator.root_frame(function)
    for call in walk(expr):
        if not isinstance(call, ast.Call) or is_loss_call(call):
            continue
        if (analysis.roles.known_name(call.func, frame) or "").startswith(("torch.", "builtins.")):
            continue
        if not isinstance(call.func, ast.Attribute):
            return True
        if call.func.attr not in _OF_TENSORS and not set(names_in(call.func.value)) & tensors:
            return True
    return False


def bound_exprs(function: Function) -> dict[str, list[ast.expr]]:
    """Name -> what the function assigns to it."""
    bound: dict[str, list[ast.expr]] = {}
    for target, binding in bound_targets(function.own_nodes):
        if isinstance(target, ast.Name) and binding.expr is not None:
            bound.setdefault(target.id, []).append(binding.expr)
    return bound
