"""Transfer function of the exploration: the state after a node, and the violations met there.

It is pure: equal facts, node and state give equal results, so that what is explored once may be asked for again.
"""

from __future__ import annotations

from verifygate.base.records import record
from verifygate.protocol import Event, Fault, Gradients, ScalerState, Violation, advance
from verifygate.static.amp.parameter_sets import Overlap
from verifygate.static.lowering.event_graph import (
    Assign,
    Backward,
    Branch,
    Enter,
    ForeignBackward,
    Iterate,
    Leave,
    Signal,
)
from verifygate.static.paths.condition_liveness import counts
from verifygate.static.paths.graph_facts import GraphFacts
from verifygate.static.paths.parameter_relations import REPLACING, Reached
from verifygate.static.paths.scaler_attribution import attributed, is_by_other_scaler, served_by
from verifygate.static.paths.states import PathNode, RegionSpan, State, decided
from verifygate.static.paths.typestate import (
    IterationState,
    Leftover,
    Typestate,
    advanced,
    iterated,
    passed_over,
    shared,
    weakly_advanced,
)
from verifygate.static.values.access_paths import AccessPath

_STEPS = frozenset({Event.SCALER_STEP, Event.OPTIMIZER_STEP, Event.CHECKED_STEP})


@record(eq=False)
class Candidate:
    """A violation as met on a path: at a node, in a state. What it is worth is decided later."""

    violation: Violation
    blamed: int
    node: int
    state: State
    optimizer: AccessPath | None
    is_leftover: bool = False
    """The gradients come of the loss of another optimizer."""


def transfer(facts: GraphFacts, number: int, state: State) -> tuple[State | None, list[Candidate]]:
    """The state after a node, None where no path can be in this state there; and the violations met there."""
    at = _Transfer(facts, number, state)
    return at.state_after(), at.candidates


def successors(facts: GraphFacts, number: int, after: State | None) -> list[PathNode]:
    """Where a path can go on that has left a node in a state."""
    if after is None:
        return []
    found = []
    for successor, fact in facts.graph.nodes[number].successors:
        following = decided(after, fact, facts.live[successor], facts.implied)
        if following is not None:
            found.append((successor, following))
    return found


class _Transfer:
    """The transfer of one state over one node."""

    __slots__ = ("candidates", "facts", "node", "number", "state")

    def __init__(self, facts: GraphFacts, number: int, state: State) -> None:
        self.facts = facts
        self.number = number
        self.node = facts.graph.nodes[number]
        self.state = state
        self.candidates: list[Candidate] = []

    def state_after(self) -> State | None:
        state = self.state
        match self.node.payload:
            case Signal() as signal:
                span = state.span
                if signal.event in _STEPS:
                    self._in_region(Violation.STEP_IN_AUTOCAST)
                    span = self._step_in_span(signal.optimizer)
                return self._signal(signal)._replace(span=span)
            case Backward() as backward:
                return self._backward(backward)
            case ForeignBackward():
                self._in_region(Violation.BACKWARD_IN_AUTOCAST)
                return state._replace(optimizers=attributed(state.optimizers, self.facts.scaled_by.get(self.number)))
            case Enter(active=active, caches=caches):
                span = state.span or RegionSpan(self.number)
                span = span._replace(caches=span.caches or (active and caches))
                return state._replace(regions=(*state.regions, active), span=span)
            case Leave():
                return state._replace(regions=state.regions[:-1], span=state.span if state.regions[1:] else None)
            case Branch() if self.number in self.facts.raising:
                self._raise_on_overflow()
            case Assign() as assign:
                return self._assign(assign)
            case Iterate() as member:
                optimizers = iterated(state.optimizers, member)
                return state._replace(optimizers=optimizers) if optimizers is not None else None
        return state

    def _meet(self, violation: Violation, optimizer: AccessPath | None, blamed: int | None = None) -> None:
        at_fault = self.number if blamed is None else blamed
        self.candidates.append(Candidate(violation, at_fault, self.number, self.state, optimizer))

    def _raise_on_overflow(self) -> None:
        """A check that ends the run where gradients of a live scaler are inf: as they are while it finds its scale."""
        for name, typestate in self.state.optimizers:
            gradients, scaler = typestate.state
            if gradients is Gradients.SCALED or (gradients, scaler) == (Gradients.UNSCALED, ScalerState.UNSCALED):
                self._meet(Violation.SKIP_GUARD_BREAKS_SCALER, name)

    # -- autocast regions --------------------------------------------------------------------------------------

    def _in_region(self, violation: Violation) -> None:
        if self.state.regions and self.state.regions[-1]:
            self._meet(violation, None)

    def _step_in_span(self, optimizer: AccessPath | None) -> RegionSpan | None:
        """The span after a step: the second of an optimizer, with a backward between, uses old casts of the weights."""
        span = self.state.span
        if span is None or not span.caches or optimizer is None or optimizer.is_summary:
            return span
        if (optimizer, True) in span.stepped:
            self._meet(Violation.AUTOCAST_STALE_WEIGHTS, optimizer, span.entered)
            return span
        return span._replace(stepped=span.stepped | {(optimizer, False)})

    # -- events of the protocol --------------------------------------------------------------------------------

    def _signal(self, signal: Signal) -> State:
        if signal.event is not Event.UPDATE:
            return self._shared(signal, self._each(signal.event, self._targets(signal)))
        facts, optimizers = self.facts, dict(self.state.optimizers)
        served = served_by(signal, self.state.optimizers, facts.scalers, facts.of_several)
        queried = [name for name in served if name in facts.scalers]
        known = queried and not any(name.is_summary for name in queried)  # else other elements may have been stepped
        known = known and len(optimizers) == len(facts.graph.optimizers)  # nor may those that are explored apart
        ready = all(optimizers[name].state.scaler is ScalerState.READY for name in queried)
        if known and ready and not signal.sets_scale:
            self._meet(Violation.MISPLACED_UPDATE, queried[0])
        return self._each(signal.event, served)

    def _shared(self, signal: Signal, after: State) -> State:
        """After an event of one optimizer: those that share parameters with it, and those whose loss it ends."""
        optimizer, event = signal.optimizer, signal.event
        if optimizer is None:
            partly = [n for n, each in self.facts.relations.about[self.number].items() if each is Overlap.SOME]
            changed = dict.fromkeys(partly, Overlap.SOME) if event in REPLACING else {}
        else:
            changed = dict(self.facts.relations.shared[optimizer])
        optimizers = []
        for name, typestate in after.optimizers:
            following = shared(typestate, event, changed[name]) if name in changed else typestate
            if event in _STEPS and following.leftover is not None and optimizer in following.leftover.trained:
                following = following._replace(leftover=following.leftover._replace(is_over=True))
            optimizers.append((name, following))
        return after._replace(optimizers=tuple(optimizers))

    def _targets(self, signal: Signal) -> list[AccessPath]:
        """The optimizers whose gradients a signal is about; of several possible ones, only if all of them violate.

        Those that are explored apart are asked there: `diagnose` puts the answers together.
        """
        names, sure = self.facts.targets(self.number, signal)
        if not sure and signal.event in (Event.CLIP, Event.READ):
            optimizers = dict(self.state.optimizers)
            names = [name for name in names if name in optimizers]
            at_fault = (advance(optimizers[name].state, signal.event)[1] is not None for name in names)
            return names if all(at_fault) else []
        return names

    def _backward(self, backward: Backward) -> State:
        state = self.state
        self._in_region(Violation.BACKWARD_IN_AUTOCAST)
        scaled = not backward.idle and (backward.scaled or bool(backward.roots & state.scaled))
        after = self._reached(Event.SCALED_BACKWARD if scaled else Event.PLAIN_BACKWARD)
        after = after._replace(optimizers=attributed(after.optimizers, self.facts.scaled_by.get(self.number)))
        if state.span is not None and state.span.stepped:
            used = frozenset((name, True) for name, _ in state.span.stepped)
            return after._replace(span=state.span._replace(stepped=used))
        return after

    def _reached(self, event: Event) -> State:
        """A backward: the only optimizer there is gets its gradients, of several those that its loss depends on.

        Where the source does not tell which those are, each may get some.
        """
        alive = self.facts.alive[self.number]
        if len(alive) == 1:
            return self._each(event, alive)
        reached, optimizers = self.facts.relations.reached.get(self.number, {}), []
        for name, typestate in self.state.optimizers:
            how = reached.get(name)
            if how is not None and self._is_own_iteration(name, typestate):
                typestate = self._after_one_of_several(name, typestate, event, how)
            optimizers.append((name, typestate))
        return self.state._replace(optimizers=tuple(optimizers))

    def _after_one_of_several(self, name: AccessPath, typestate: Typestate, event: Event, how: Reached) -> Typestate:
        if typestate.state.gradients is Gradients.SPENT and name in self.facts.never_zeroed:
            self._meet(Violation.ZERO_GRAD_MISPLACED, name)
        left = typestate.leftover
        is_left = left is not None and left.is_over and name not in self.facts.never_zeroed
        if is_left and how.used and not how.feeding:
            found = Candidate(
                Violation.ZERO_GRAD_MISPLACED, self.number, self.number, self.state, name, is_leftover=True
            )
            self.candidates.append(found)
            return weakly_advanced(typestate, event, self.number)._replace(leftover=None)
        if how.used and not how.feeding:
            return self._advanced(name, typestate, event, aimed=False)
        after = weakly_advanced(typestate, event, self.number) if typestate.touched else typestate
        return after._replace(leftover=Leftover(self.number, how.feeding)) if how.feeding else after

    def _each(self, event: Event, names: list[AccessPath]) -> State:
        """Advance each of these optimizers."""
        payload = self.node.payload
        aimed = isinstance(payload, Signal) and bool(payload.optimizer)
        optimizers = []
        for name, typestate in self.state.optimizers:
            if name not in names:
                optimizers.append((name, typestate))
            elif event is not Event.UPDATE and not self._is_own_iteration(name, typestate):
                optimizers.append((name, passed_over(typestate, event, aimed)))
            else:
                optimizers.append((name, self._advanced(name, typestate, event, aimed)))
        return self.state._replace(optimizers=tuple(optimizers))

    def _advanced(self, name: AccessPath, typestate: Typestate, event: Event, aimed: bool) -> Typestate:
        payload = self.node.payload
        scaled = typestate.state.gradients is Gradients.SCALED
        if event is Event.ZERO_GRAD and scaled and self.facts.queries_gradients:
            self._meet(Violation.SKIP_GUARD_BREAKS_SCALER, name)
        if isinstance(payload, Signal) and is_by_other_scaler(typestate, payload):
            self._meet(Violation.STEP_WRONG_OBJECT, name)
            typestate = typestate._replace(scales=frozenset())
        following, fault = advanced(typestate, event, self.number, aimed=aimed)
        if fault is not None and not _is_unused(name, fault, event):
            present = fault.event is event and not fault.violation.traits.blames_earlier
            self._meet(fault.violation, name, None if present else typestate.latest(fault.event))
        return following

    def _is_own_iteration(self, name: AccessPath, typestate: Typestate) -> bool:
        """Whether what a loop over a collection does at a node is done to the element that is tracked."""
        return typestate.iteration in (None, IterationState.OWN) or name not in self.node.collections

    # -- assignments -------------------------------------------------------------------------------------------

    def _assign(self, assign: Assign) -> State:
        facts, state = self.facts, self.state
        scaled = state.scaled
        if assign.scaled or (scaled and assign.sources.paths & scaled):
            scaled = scaled | {assign.target}
        elif assign.target in scaled and not assign.augments:
            scaled = scaled - {assign.target}
        decisions = state.facts
        if decisions and (kills := facts.kills[self.number]):
            over = frozenset(fact for fact in decisions if fact[0] in kills)
            following = facts.next_iterations
            decisions = decisions - over | {
                (following[each], truth) for each, truth in over if each in following and counts(self.node, each)
            }
        if assign.truth is not None and (atom := facts.switches.get(assign.target)):
            decisions |= {(atom, assign.truth)}
        span = state.span
        if span is not None and any(name.is_below(assign.target) for name, _ in span.stepped):
            # another optimizer goes by this name now
            kept = frozenset(each for each in span.stepped if not each[0].is_below(assign.target))
            span = span._replace(stepped=kept)
        optimizers = state.optimizers
        if rebound := facts.rebound[self.number]:
            optimizers = tuple((name, Typestate() if name in rebound else each) for name, each in optimizers)
        if (scaled, decisions, span, optimizers) == (state.scaled, state.facts, state.span, state.optimizers):
            return state
        return state._replace(scaled=scaled, facts=decisions, span=span, optimizers=optimizers)


def _is_unused(name: AccessPath, fault: Fault, event: Event) -> bool:
    """Gradients of two scales that an element of a collection may never step with: the step will show it."""
    return name.is_summary and fault.violation is Violation.MISPLACED_UPDATE and event is Event.SCALED_BACKWARD
