"""Take an optimizer of an owner that nobody knows for the one that is stepped, where there is only one.

A callback unscales `self.state.optimizer`, and what `self.state` is, no source tells; the loop that runs the callback
steps `self.optimizer`. Nobody unscales an optimizer that is never stepped, so the two names are of one object.
"""

from __future__ import annotations

from verifygate.base.records import replace
from verifygate.protocol import Event
from verifygate.static.lowering.event_graph import Graph, Signal
from verifygate.static.values.access_paths import AccessPath

_STEPS = frozenset({Event.SCALER_STEP, Event.OPTIMIZER_STEP, Event.CHECKED_STEP})


def unite_optimizers_of_others(graph: Graph) -> None:
    """Give the events of such an optimizer to the one that is stepped, and note that this is an assumption."""
    stepped = {each.optimizer for each in _signals(graph) if each.event in _STEPS and each.optimizer is not None}
    if len(stepped) != 1:
        return
    (own,) = stepped
    others = {each for each in graph.optimizers if each not in stepped and _may_be_one(each, own)}
    for number, node in enumerate(graph.nodes) if others else ():
        if isinstance(signal := node.payload, Signal) and signal.optimizer in others:
            node.payload = replace(signal, optimizer=own)
            graph.renamed.add(number)
    for other in others:
        graph.optimizers[own] |= graph.optimizers.pop(other)
        graph.parameters.pop(other)


def _signals(graph: Graph) -> list[Signal]:
    return [node.payload for node in graph.nodes if isinstance(node.payload, Signal)]


def _may_be_one(other: AccessPath, own: AccessPath) -> bool:
    """Whether an optimizer that is never stepped may be the one that is: by its name, where that one has a name."""
    if own.is_summary or other.is_summary or not other.is_of_unknown_owner:
        return False
    return other.last_name == own.last_name or (own.root.kind == "result" and not own.steps)
