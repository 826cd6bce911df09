"""Facts of an event graph that hold on every path: computed once, before its paths are explored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from verifygate.base.records import record
from verifygate.protocol import Event
from verifygate.static.amp.parameter_sets import Overlap
from verifygate.static.amp.roles import ScalerOrigin
from verifygate.static.conditions.predicates import Fact, Predicate
from verifygate.static.lowering.event_graph import Assign, Branch, Graph, Signal
from verifygate.static.paths.condition_liveness import implied, killed, live, next_iterations
from verifygate.static.paths.finite_checks import queries_gradients, raises_on_overflow
from verifygate.static.paths.parameter_relations import REPLACING, ParameterRelations, parameter_relations
from verifygate.static.paths.scaler_attribution import scaled_by
from verifygate.static.values.access_paths import AccessPath

_MAYBE = frozenset({Overlap.CHOSEN, Overlap.UNKNOWN})


@record(eq=False)
class GraphFacts:
    """What a transfer function reads beside the node and the state."""

    graph: Graph
    alive: Mapping[int, list[AccessPath]]
    """Node with an event -> the optimizers that can be meant there."""
    scalers: Mapping[AccessPath, set[AccessPath]]
    """Optimizer -> the scalers that are seen to unscale or step it."""
    of_several: set[AccessPath]
    """Scalers that may each be one of several."""
    scaled_by: Mapping[int, frozenset[ScalerOrigin | None]]
    """Node with a backward -> the scalers that may have scaled its loss, where there are several."""
    never_zeroed: Set[AccessPath]
    queries_gradients: bool
    """Some branch asks whether gradients are finite."""
    raising: Set[int]
    """Branches that raise where gradients are not finite."""
    kills: Sequence[frozenset[Predicate]]
    """Node -> the conditions that read what it assigns."""
    live: Sequence[frozenset[Predicate]]
    """Node -> the conditions that are tested there or later."""
    implied: Mapping[Fact, frozenset[Fact]]
    next_iterations: Mapping[Predicate, Predicate]
    switches: Mapping[AccessPath, Predicate]
    """Variable -> the condition that tests nothing but it."""
    relations: ParameterRelations
    rebound: Mapping[int, list[AccessPath]]
    """Node with an assignment -> the optimizers whose names mean another from there on."""

    def concerns(self, number: int, optimizer: AccessPath) -> bool | None:
        """Whether the event of a node is about the gradients of an optimizer; None where it may be."""
        payload = self.graph.nodes[number].payload
        if isinstance(payload, Signal) and payload.optimizer is not None:
            return payload.optimizer == optimizer or (None if payload.optimizer.is_summary else False)
        alive = self.alive.get(number, ())
        if len(alive) <= 1:
            return optimizer in alive
        if isinstance(payload, Signal):
            about = self.relations.about[number].get(optimizer, Overlap.NONE)
            return None if about in _MAYBE else about is not Overlap.NONE
        reached = self.relations.reached.get(number, {}).get(optimizer)
        return False if reached is None else (reached.surely or None)

    def targets(self, number: int, signal: Signal) -> tuple[list[AccessPath], bool]:
        """The optimizers whose gradients a signal may be about, and whether it is about each of them."""
        if signal.optimizer:
            return [signal.optimizer], True
        about, alive = self.relations.about[number], self.alive[number]
        known = (Overlap.WITHIN,) if signal.event in REPLACING else (Overlap.WITHIN, Overlap.SOME)
        if sure := [name for name in alive if about[name] in known]:
            return sure, True
        names = [name for name in alive if about[name] in _MAYBE]
        if len(names) <= 1:
            return names, True
        named = {name: len(self.graph.optimizers[name] & signal.names) for name in names}
        if most := max(named.values(), default=0):  # `model.encoder` is nearer to `model.encoder` than to `model.head`
            names = [name for name in names if named[name] == most]
            unlike = len({name.last_name for name in names}) > 1 and all(
                about[each] is not Overlap.CHOSEN for each in names
            )
            if len(names) == 1 or unlike:
                return names, True  # else two objects of a kind, or one that went by another name while it was made
        return names, False

    def possible(self, number: int) -> frozenset[AccessPath]:
        """The optimizers of which the event at a node is about one, and nothing says which; none where it is known."""
        payload = self.graph.nodes[number].payload
        if not isinstance(payload, Signal) or payload.event not in (Event.CLIP, Event.READ):
            return frozenset()
        names, sure = self.targets(number, payload)
        return frozenset() if sure else frozenset(names)


def graph_facts(graph: Graph) -> GraphFacts:
    """Compute what the paths of a graph share."""
    kills = killed(graph)
    tested = {node.payload.atom for node in graph.nodes if isinstance(node.payload, Branch)}
    scalers, of_several = _scalers(graph)
    alive = graph.optimizers_in_scope()
    return GraphFacts(
        graph=graph,
        alive=alive,
        relations=parameter_relations(graph, alive),
        scalers=scalers,
        of_several=of_several,
        scaled_by=scaled_by(graph),
        never_zeroed=graph.never_zeroed(),
        queries_gradients=any(map(queries_gradients, graph.nodes)),
        raising={n for n, node in enumerate(graph.nodes) if raises_on_overflow(node)},
        kills=kills,
        live=live(graph, kills),
        implied=implied(graph),
        next_iterations=next_iterations(graph),
        switches={variable: atom for atom in tested if (variable := atom.variable)},
        rebound=_rebound(graph, scalers),
    )


def _scalers(graph: Graph) -> tuple[dict[AccessPath, set[AccessPath]], set[AccessPath]]:
    """Optimizer -> the scalers that unscale or step it; and those of them that may be one of several."""
    found: dict[AccessPath, set[AccessPath]] = {}
    of_several: set[AccessPath] = set()
    for node in graph.nodes:
        if isinstance(node.payload, Signal) and node.payload.scaler and node.payload.optimizer:
            found.setdefault(node.payload.optimizer, set()).add(node.payload.scaler)
            of_several |= {node.payload.scaler} if node.payload.is_any else set()
    return found, of_several


def _rebound(graph: Graph, scalers: Mapping[AccessPath, set[AccessPath]]) -> dict[int, list[AccessPath]]:
    found = {}
    for number, node in enumerate(graph.nodes):
        if isinstance(node.payload, Assign):  # the variable of a loop over a collection stays the one tracked
            names = (name for name in graph.optimizers if name not in node.collections)
            found[number] = [name for name in names if _rebinds(node.payload, name, graph, scalers)]
    return found


def _rebinds(
    assign: Assign, optimizer: AccessPath, graph: Graph, scalers: Mapping[AccessPath, set[AccessPath]]
) -> bool:
    """Whether assigning to a name brings another optimizer: itself, or in a new object that holds its scaler.

    Such an object's optimizer is known by a parameter of the constructor, which nobody runs here.
    """
    if optimizer.is_below(assign.target) or assign.advances:
        return optimizer.is_below(assign.target)
    own = scalers.get(optimizer, ())
    return any(each.is_held_by(assign.target) for each in own) and not graph.is_local(optimizer)
