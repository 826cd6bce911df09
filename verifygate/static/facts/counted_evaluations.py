"""Loops that evaluate a model a number of times, over no loader: `for _ in range(batches): loss = ...`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.base.fixpoint import fixpoint
from verifygate.naming import names_an_evaluation
from verifygate.static.facts.hot_loops import HotLoop, HotLoops
from verifygate.static.symbols.program import Function
from verifygate.static.symbols.sites import Loop
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.call_graph import CallGraph

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
                if spot.loops and isinstance(spot.node, ast.Call) and hot.is_model(spot.node.func, function):
                    loops[spot.loops[-1]] = None
            if not loops or known.intersection(loops) or not _evaluates(function, call_graph):
                continue
            yield from (HotLoop(function, loop, trains=False, over_loader=False) for loop in loops)


def _is_part_of_a_model(function: Function, hot: HotLoops) -> bool:
    """Whether it is a method of a module of torch's: who calls it differentiates what it gives."""
    owner = function.owner
    return owner is not None and any(base.startswith("torch.nn.") for base in hot.evaluator.outside_bases(owner))


def _evaluates(function: Function, call_graph: CallGraph) -> bool:
    """Whether nothing that a function works out is differentiated: by its callers, or else by what it says itself."""
    if any(last_name(call.func) in _DIFFERENTIATE for call in function.calls):
        return False
    if not function.symbol:
        return True
    if call_graph.sites(function):
        return not _is_differentiated(function, call_graph, {function})
    in_eval_mode = any(last_name(call.func) == "eval" and not call.args for call in function.calls)
    return in_eval_mode or names_an_evaluation(function.name)


def _is_differentiated(function: Function, call_graph: CallGraph, seen: set[Function]) -> bool:
    """Whether a caller differentiates what the function gives, or hands it on to one that does."""
    for site in call_graph.sites(function):
        caller, names = site.caller, _derived(site.call, site.caller)
        for call in caller.calls:
            operands = [call.func.value, *call.args] if isinstance(call.func, ast.Attribute) else call.args
            if last_name(call.func) in _DIFFERENTIATE and any(_holds(each, site.call, names) for each in operands):
                return True
        if any(_holds(each, site.call, names) for each in caller.returns):
            if caller in seen or not call_graph.sites(caller):
                return True  # who gets it is not known
            if _is_differentiated(caller, call_graph, seen | {caller}):
                return True
    return False


def _holds(expr: ast.expr, call: ast.Call, names: frozenset[str]) -> bool:
    return any(node is call or (isinstance(node, ast.Name) and node.id in names) for node in walk(expr))


def _derived(call: ast.Call, function: Function) -> frozenset[str]:
    """The variables of a function that what a call gives goes into."""
    first = {
        name
        for name, bindings in function.scope.names.items()
        if any(each.expr is not None and any(node is call for node in walk(each.expr)) for each in bindings)
    }

    def onward(name: str) -> Iterator[str]:
        for other, bindings in function.scope.names.items():
            if any(
                each.expr is not None
                and any(isinstance(node, ast.Name) and node.id == name for node in walk(each.expr))
                for each in bindings
            ):
                yield other

    return frozenset(fixpoint(first, onward))
