"""Loops that evaluate a model, over no loader or by a method: `for _ in range(batches): loss = self.metrics(...)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.base.fixpoint import fixpoint
from verifygate.naming import names_an_evaluation
from verifygate.static.facts.hot_loops import HotLoop, HotLoops
from verifygate.static.symbols.program import Function
from verifygate.static.symbols.sites import Loop, ProgramPoint
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.call_graph import CallGraph

_DEPTH = 2
_DIFFERENTIATE = frozenset({"backward", "scale", "grad"})


def counted_evaluations(hot: HotLoops, call_graph: CallGraph) -> Iterator[HotLoop]:
    """The innermost loops that run a model, and whose function differentiates nothing, nor do its callers with it."""
    known = {loop.node for loop in hot.loops}
    for module in hot.modules:
        for function in module.all_functions:
            if not function.loops or _is_part_of_a_model(function, hot):
                continue
            loops: dict[Loop, None] = {}
            for spot in hot.spots(function):
                if spot.loops and isinstance(spot.node, ast.Call) and _runs_a_model(spot, hot, _DEPTH):
                    loops[spot.loops[-1]] = None
            if (
                not loops
                or known.intersection(loops)
                or not _evaluates(function, call_graph)
                or differentiates(function, call_graph)
            ):
                continue
            yield from (hot.evaluating(function, loop) for loop in loops)


def _runs_a_model(spot: ProgramPoint, hot: HotLoops, depth: int) -> bool:
    """Whether a call runs a model, or a function of the project that does so outside of loops of its own."""
    if isinstance(spot.node, ast.Call) and hot.is_model(spot.node.func, spot.function):
        return True
    return depth > 0 and any(
        isinstance(inner.node, ast.Call) and not inner.loops and _runs_a_model(inner, hot, depth - 1)
        for callee in hot.callees(spot)
        for inner in hot.spots(callee)
    )


def _is_part_of_a_model(function: Function, hot: HotLoops) -> bool:
    """Whether it is a method of a module of torch's: who calls it differentiates what it gives."""
    owner = function.owner
    return owner is not None and any(base.startswith("torch.nn.") for base in hot.evaluator.outside_bases(owner))


def _evaluates(function: Function, call_graph: CallGraph) -> bool:
    """Whether nothing that a function works out is differentiated: by its callers, or else by what it says itself."""
    if not function.symbol:
        return True
    known = _is_differentiated(function, call_graph, {function}) if call_graph.sites(function) else None
    if known is not None:
        return not known
    in_eval_mode = any(last_name(call.func) == "eval" and not call.args for call in function.calls)
    return in_eval_mode or names_an_evaluation(function.name)


def differentiates(function: Function, call_graph: CallGraph, depth: int = _DEPTH) -> bool:
    """Whether a function, or one that it calls, differentiates something."""
    return any(
        last_name(call.func) in _DIFFERENTIATE
        or (
            depth > 0
            and any(differentiates(each, call_graph, depth - 1) for each in call_graph.callees(call, function))
        )
        for call in function.calls
    )


def _is_differentiated(function: Function, call_graph: CallGraph, seen: set[Function]) -> bool | None:
    """Whether a caller differentiates what the function gives, or hands it on to one that does; None: not known."""
    handed_on: list[bool | None] = []
    for site in call_graph.sites(function):
        caller, names = site.caller, _derived(site.call, site.caller)
        for call in caller.calls:
            operands = [call.func.value, *call.args] if isinstance(call.func, ast.Attribute) else call.args
            if last_name(call.func) in _DIFFERENTIATE and any(_holds(each, site.call, names) for each in operands):
                return True
        if any(_holds(each, site.call, names) for each in caller.returns):
            known = caller not in seen and bool(call_graph.sites(caller))
            handed_on.append(_is_differentiated(caller, call_graph, seen | {caller}) if known else None)
    return True if True in handed_on else None if None in handed_on else False


def _holds(expr: ast.expr, call: ast.Call, names: frozenset[str]) -> bool:
    return any(node is call or (isinstance(node, ast.Name) and node.id in names) for node in walk(expr))


def _derived(call: ast.Call, function: Function) -> frozenset[str]:
    """The variables of a function that what a call gives goes into."""
    into: dict[str, set[str]] = {}
    first = set()
    for name, bindings in function.scope.names.items():
        for node in (node for each in bindings if each.expr is not None for node in walk(each.expr)):
            if node is call:
                first.add(name)
            elif isinstance(node, ast.Name):
                into.setdefault(node.id, set()).add(name)
    return frozenset(fixpoint(first, lambda name: into.get(name, ())))
