"""Emit an event of the protocol, and note the scaler and the optimizer that it is about."""

from __future__ import annotations

import ast

from verifygate.protocol import Event
from verifygate.static.amp.parameter_sets import ParameterSet
from verifygate.static.lowering.context import Activation
from verifygate.static.lowering.event_graph import Backward, ForeignBackward, Signal
from verifygate.static.syntax.names import last_name


def emit_event(event: Signal | Backward | ForeignBackward, node: ast.AST, here: Activation) -> None:
    """Emit the node of an event, but for a zero_grad of single parameters, which freezes those."""
    graph = here.builder.graph
    if isinstance(event, Signal):
        is_whole = isinstance(node, ast.Call) and last_name(node.func) == "zero_grad"
        if event.event is Event.ZERO_GRAD and here.loops and here.loops[-1].filters and not is_whole:
            return  # the other gradients are used
        if event.scaler:
            graph.scalers.add(event.scaler)
        if event.optimizer and event.optimizer not in graph.optimizers:
            graph.optimizers[event.optimizer] = _module_names(node, here)
            graph.parameters[event.optimizer] = _parameters(node, here)
    here.builder.emit(event, node, here.frame)


def _module_names(node: ast.AST, here: Activation) -> frozenset[str]:
    """Names of the modules whose parameters the optimizer of a call holds."""
    names: frozenset[str] = frozenset()
    for candidate in _candidates(node):
        names |= here.roles.optimizer_names(candidate, here.frame)
    return names


def _parameters(node: ast.AST, here: Activation) -> ParameterSet | None:
    """The parameters that the optimizer of a call updates."""
    found = (here.roles.parameters.of_optimizer(each, here.frame) for each in _candidates(node))
    return next(filter(None, found), None)


def _candidates(node: ast.AST) -> list[ast.expr]:
    """Which parts of a call may be the optimizer: `scaler.step(optimizer)`, `optimizer.step()`."""
    if not isinstance(node, ast.Call):
        return []
    return [*node.args[:1], *([node.func.value] if isinstance(node.func, ast.Attribute) else [])]
