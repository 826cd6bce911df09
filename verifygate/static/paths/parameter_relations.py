"""Relations between parameter sets in one event graph: whose gradients each event is about.

Optimizers share parameters or not; a clip, a zero_grad or a hand-written gradient is about all of an optimizer's
parameters or some; a backward reaches them or not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import TypeGuard

from verifygate.base.records import record
from verifygate.protocol import Event
from verifygate.static.amp.gradient_flow import GradientFlow
from verifygate.static.amp.parameter_sets import Overlap, ParameterSet
from verifygate.static.lowering.event_graph import Backward, ForeignBackward, Graph, Signal
from verifygate.static.values.access_paths import AccessPath

REPLACING = frozenset({Event.ZERO_GRAD, Event.WRITE, Event.ASSIGN})
"""Of some of an optimizer's parameters, these leave the others as they are."""
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
            apart = overlap is Overlap.SOME and sets[name].may_miss(sets[other]) and _step_together(name, other, graph)
            if overlap in (Overlap.WITHIN, Overlap.SOME) and not apart:
                found[name][other] = overlap
    return found


def _step_together(one: AccessPath, other: AccessPath, graph: Graph) -> bool:
    """Whether the scaler's step of one of two optimizers is, on every way, followed by that of the other.

    On some ways only, the steps may be those of two phases: `if warm: scaler.step(head)`, then
    `if not warm: scaler.step(everything)`.
    """
    return any(
        _is_scaler_step(node.payload, {one, other})
        and _leads_to_step(start, {one, other} - {node.payload.optimizer}, graph)
        for start, node in enumerate(graph.nodes)
    )


def _leads_to_step(start: int, second: Set[AccessPath | None], graph: Graph) -> bool:
    """Whether every way from a node leads to a scaler's step of `second` before a backward, an `update` or the end."""
    seen, ways = {start}, [start]
    while ways:
        successors = graph.nodes[ways.pop()].successors
        if not successors:
            return False
        for successor, _ in successors:
            payload = graph.nodes[successor].payload
            if successor in seen or _is_scaler_step(payload, second):
                continue
            if isinstance(payload, Backward | ForeignBackward):
                return False
            if isinstance(payload, Signal) and payload.event is Event.UPDATE:
                return False
            seen.add(successor)
            ways.append(successor)
    return True


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
    if signal.event not in REPLACING:
        found |= {name: Overlap.CHOSEN for name in names if _may_miss(own, name, found[name], graph)}
        found |= dict.fromkeys(_owners_of_chosen(own, graph, names), Overlap.SOME)
    return found


def _owners_of_chosen(own: ParameterSet, graph: Graph, names: list[AccessPath]) -> Iterator[AccessPath]:
    """Of a set that lists some modules whole and of others a choice: the optimizers that alone have any of the latter.

    `[*head.parameters(), *(p for p in body.parameters() if p.ndim == 2)]` is about the one optimizer of `body`, also
    where that has chosen among the same parameters: else nobody would have what is listed.
    """
    for root in own.chosen if own.chosen != own.roots else ():
        part = ParameterSet(frozenset({root}), frozenset({root}))
        owners = [name for name in names if part.overlap(graph.parameters.get(name)) is not Overlap.NONE]
        if len(owners) == 1:
            yield owners[0]


def _may_miss(own: ParameterSet, optimizer: AccessPath, overlap: Overlap, graph: Graph) -> bool:
    """Whether an event may be about none of an optimizer's parameters, as both choose among the same."""
    chosen = graph.parameters.get(optimizer)
    return overlap is Overlap.SOME and chosen is not None and own.may_miss(chosen)


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
