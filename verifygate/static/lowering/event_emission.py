"""Emit an event of the protocol, and note the scaler and the optimizer that it is about."""

from __future__ import annotations

import ast

from verifygate.protocol import Event
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
    here.builder.emit(event, node, here.frame)


def _module_names(node: ast.AST, here: Activation) -> frozenset[str]:
    """Names of the modules whose parameters the optimizer of a call holds."""
    if not isinstance(node, ast.Call):
        return frozenset()
    candidates = [node.args[0]] if node.args else []
    if isinstance(node.func, ast.Attribute):
        candidates.append(node.func.value)
    names: frozenset[str] = frozenset()
    for candidate in candidates:
        names |= here.roles.optimizer_names(candidate, here.frame)
    return names
