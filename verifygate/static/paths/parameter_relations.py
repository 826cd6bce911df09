"""Relations between parameter sets in one event graph: whose gradients each event is about.

Optimizers share parameters or not; a clip, a zero_grad or a hand-written gradient is about all of an optimizer's
parameters or some; a backward reaches them or not.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import TypeGuard

from verifygate.base.records import record
from verifygate.protocol import Event
from verifygate.static.amp.gradient_flow import GradientFlow
from verifygate.static.amp.parameter_sets import Overlap
from verifygate.static.lowering.event_graph import Backward, ForeignBackward, Graph, Signal
from verifygate.static.values.access_paths import AccessPath

_STEPS = frozenset({Event.SCALER_STEP, Event.OPTIMIZER_STEP, Event.CHECKED_STEP})


@record(eq=False)
class Reached:
    """What one backward does to the gradients of one optimizer, of several that it may be about."""

    surely: bool
    used: bool
    """A step of the optimizer may follow before a zero_grad: the gradients are meant for it."""
    feeding: frozenset[AccessPath] = frozenset()
    """Optimizers of what its parameters work on in this loss: of the generator, for the discriminator's."""


@record(eq=False)
class ParameterRelations:
    shared: Mapping[AccessPath, Mapping[AccessPath, Overlap]]
    """Optimizer -> each other one that shares parameters with it, or may, and how many of its they are."""
    about: Mapping[int, Mapping[AccessPath, Overlap]]
    """Node with a signal that names no optimizer -> how many of each optimizer's parameters it is about."""
    reached: Mapping[int, Mapping[AccessPath, Reached]]
    """Node with a backward -> the optimizers whose parameters it reaches, or may reach."""


def parameter_relations(graph: Graph, alive: Mapping[int, list[AccessPath]]) -> ParameterRelations:
    """Work out the relations of a graph; `alive` are the optimizers that can be meant at each node."""
    about = {
        number: _about(node.payload, graph, alive[number])
        for number, node in enumerate(graph.nodes)
        if isinstance(node.payload, Signal) and node.payload.optimizer is None and number in alive
    }
    reached = {
        number: _reached(node.payload.flow.value, number, graph, alive[number], about)
        for number, node in enumerate(graph.nodes)
        if isinstance(node.payload, Backward) and len(alive.get(number, ())) > 1
    }
    return ParameterRelations(_shared(graph), about, reached)


def _shared(graph: Graph) -> dict[AccessPath, dict[AccessPath, Overlap]]:
    """Of two that choose among the same parameters, and that a scaler steps in one window, no parameter is of both.

    Each step of the scaler would divide it by the scale: such a program is faulty at its clip, or at its second step.
    """
    found: dict[AccessPath, dict[AccessPath, Overlap]] = {}
    sets = {name: own for name in graph.optimizers if (own := graph.parameters.get(name)) is not None}
    for name in graph.optimizers:
        found[name] = {}
        for other in graph.optimizers if name in sets else ():
            overlap = sets[name].overlap(sets.get(other)) if other != name else Overlap.NONE
            chosen = overlap is Overlap.SOME and not (sets[name].is_whole and sets[other].is_whole)
            if overlap in (Overlap.WITHIN, Overlap.SOME) and not (chosen and _step_together(name, other, graph)):
                found[name][other] = overlap
    return found


def _step_together(one: AccessPath, other: AccessPath, graph: Graph) -> bool:
    """Whether a scaler steps one of two optimizers, and on some way the other before anything else is due."""
    for start, node in enumerate(graph.nodes):
        if not _is_scaler_step(node.payload, {one, other}):
            continue
        second = {one, other} - {node.payload.optimizer}
        seen, ways = {start}, [start]
        while ways:
            for successor, _ in graph.nodes[ways.pop()].successors:
                payload = graph.nodes[successor].payload
                if successor in seen or isinstance(payload, Backward | ForeignBackward):
                    continue
                seen.add(successor)
                if _is_scaler_step(payload, second):
                    return True
                if not (isinstance(payload, Signal) and payload.event is Event.UPDATE):
                    ways.append(successor)
    return False


def _is_scaler_step(payload: object, optimizers: Set[AccessPath | None]) -> TypeGuard[Signal]:
    return isinstance(payload, Signal) and payload.event is Event.SCALER_STEP and payload.optimizer in optimizers


def _about(signal: Signal, graph: Graph, names: list[AccessPath]) -> dict[AccessPath, Overlap]:
    """How many parameters of each optimizer an event is about: of any, where it is about none that is known."""
    own = signal.parameters.value
    if own is None:
        return dict.fromkeys(names, Overlap.UNKNOWN)
    found = {name: Overlap.WITHIN if name in own.roots else own.overlap(graph.parameters.get(name)) for name in names}
    if all(each is Overlap.NONE for each in found.values()):
        return dict.fromkeys(names, Overlap.UNKNOWN)
    return found


def _reached(
    flow: GradientFlow | None,
    number: int,
    graph: Graph,
    names: list[AccessPath],
    about: Mapping[int, Mapping[AccessPath, Overlap]],
) -> dict[AccessPath, Reached]:
    found = {}
    for name in names:
        parameters = graph.parameters.get(name)
        reaches = flow.reaches(parameters) if flow is not None else None
        if reaches is False:
            continue
        surely = reaches is True and not name.is_summary and not graph.freezes
        used = surely and _is_used(number, name, graph, about)
        feeding = frozenset(
            other
            for other in names
            if surely and flow is not None and other != name and (theirs := graph.parameters.get(other)) is not None
            if parameters is not None and flow.fed_by(parameters, theirs) and not flow.fed_by(theirs, parameters)
        )
        found[name] = Reached(surely, used, feeding)
    return found


def _is_used(
    backward: int, optimizer: AccessPath, graph: Graph, about: Mapping[int, Mapping[AccessPath, Overlap]]
) -> bool:
    """Whether some way leads from a backward to a step of an optimizer, and past no zero_grad of its gradients."""
    ahead, seen = [backward], {backward}
    while ahead:
        for successor, _ in graph.nodes[ahead.pop()].successors:
            if successor in seen:
                continue
            seen.add(successor)
            signal = graph.nodes[successor].payload
            if isinstance(signal, Signal):
                if signal.event in _STEPS and signal.optimizer == optimizer:
                    return True
                if signal.event is Event.ZERO_GRAD and _may_zero(signal, successor, optimizer, about):
                    continue
            ahead.append(successor)
    return False


def _may_zero(
    signal: Signal, number: int, optimizer: AccessPath, about: Mapping[int, Mapping[AccessPath, Overlap]]
) -> bool:
    if signal.optimizer is not None:
        return signal.optimizer == optimizer or signal.optimizer.is_summary
    return about.get(number, {}).get(optimizer, Overlap.UNKNOWN) is not Overlap.NONE
