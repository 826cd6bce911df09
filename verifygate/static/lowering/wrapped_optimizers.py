"""Take an optimizer and the one that it wraps for one: they have the same parameters, and each step is of both.

A scaler is handed the outer one (`scaler.step(self.optimizer)`), and calls its `step`, which calls that of the inner
one (`self.optimizer.optimizer`). An outer one that holds several is left as it is: which of them shares what is not
known.
"""

from __future__ import annotations

from collections.abc import Mapping

from verifygate.base.records import replace
from verifygate.static.lowering.event_graph import Graph, Signal
from verifygate.static.values.access_paths import AccessPath


def unite_wrapped_optimizers(graph: Graph) -> None:
    """Give each event of an optimizer that another one wraps to that other one."""
    outer = _wrapping(graph)
    for node in graph.nodes if outer else ():
        if isinstance(signal := node.payload, Signal) and signal.optimizer in outer:
            node.payload = replace(signal, optimizer=outer[signal.optimizer])
    for inner, whole in outer.items():
        graph.optimizers[whole] |= graph.optimizers.pop(inner)
        parameters = graph.parameters.pop(inner)
        graph.parameters[whole] = graph.parameters[whole] or parameters


def _wrapping(graph: Graph) -> dict[AccessPath, AccessPath]:
    """Wrapped optimizer -> the outermost one that wraps it."""
    around: dict[AccessPath, AccessPath] = {}
    for outer in sorted(graph.optimizers, key=lambda path: len(path.steps), reverse=True):
        inner = [each for each in graph.optimizers if each.is_held_by(outer) and each not in around]
        if len(inner) == 1:
            around[inner[0]] = outer
    return {inner: _outermost(outer, around) for inner, outer in around.items()}


def _outermost(optimizer: AccessPath, around: Mapping[AccessPath, AccessPath]) -> AccessPath:
    while optimizer in around:
        optimizer = around[optimizer]
    return optimizer
