"""Frozen models: whether the parameters of one model need no gradients, where its code or that around it says so."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.static.analysis import Analysis
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import turns_gradients_off
from verifygate.static.syntax.traversal import walk

_CALLS = 2
"""Calls through which a model is followed, to what handed it in and to what it is handed on to."""


def needs_no_gradients(
    model: ast.expr, function: Function, analysis: Analysis, depth: int = _CALLS, *, by_every_caller: bool = False
) -> bool:
    """Whether what a function calls `model` is frozen: here, in its class, by a caller, or by what is called.

    One caller that hands in a frozen model is enough, unless it has to be every one.
    """
    name = ast.unparse(model)
    homes = [function]
    if name.startswith("self.") and function.owner is not None:
        homes += (each for made in analysis.evaluator.linearised(function.owner) for each in made.methods.values())
    if any(name in _frozen_in(home) for home in homes):
        return True
    if not depth:
        return False
    handed_in = analysis.call_graph.given(name, function) if isinstance(model, ast.Name) else ()
    frozen = [
        needs_no_gradients(bound.expr, site.caller, analysis, depth - 1, by_every_caller=by_every_caller)
        for site, bound in handed_in
    ]
    if frozen and (all if by_every_caller else any)(frozen):
        return True
    return any(
        parameter in _frozen_in(entered.function)
        for home in homes
        for call in home.calls
        if any(ast.unparse(each) == name for each in call.args)
        for entered in analysis.call_graph.entered(call, home)
        for parameter, bound in entered.arguments.items()
        if ast.unparse(bound.expr) == name
    )


def _frozen_in(function: Function) -> frozenset[str]:
    """The models that a function freezes: whole, as they are made, or parameter by parameter."""
    return frozenset(_freezes(function)) if function.module.mentions(b"requires_grad") else frozenset()


def _freezes(function: Function) -> Iterator[str]:
    for call in function.calls:
        if _is_freezing(call):
            yield ast.unparse(call.func.value)  # type: ignore[attr-defined]
    for made in function.of_kind(ast.Assign):
        if any(isinstance(node, ast.Call) and _is_freezing(node) for node in walk(made.value)):
            yield from (ast.unparse(target) for target in made.targets)
    for loop in function.of_kind(ast.For):
        if any(_is_freezing(node) for node in walk(loop)):
            for node in walk(loop.iter):
                if isinstance(node, ast.Attribute) and node.attr in ("parameters", "named_parameters"):
                    yield ast.unparse(node.value)


def _is_freezing(node: ast.AST) -> bool:
    match node:
        case ast.Call():
            return turns_gradients_off(node)
        case ast.Assign(targets=[ast.Attribute(attr="requires_grad")], value=ast.Constant(value=False)):
            return True
    return False
