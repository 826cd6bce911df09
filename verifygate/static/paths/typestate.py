"""Typestate of one optimizer on one path: its state in the protocol, and the events that led to it."""

from __future__ import annotations

from enum import StrEnum
from functools import cache
from typing import NamedTuple

from verifygate.protocol import Event, Fault, Gradients, OptimizerState, ScalerState, Violation, advance
from verifygate.static.amp.parameter_sets import Overlap
from verifygate.static.amp.roles import ScalerOrigin
from verifygate.static.lowering.event_graph import Iterate, IterationPart
from verifygate.static.values.access_paths import AccessPath

_BLAMED = frozenset(
    {Event.WRITE, Event.CLIP, Event.PLAIN_BACKWARD, Event.UNSCALE, Event.SCALER_STEP, Event.UPDATE, Event.ZERO_GRAD}
)
_MADE = {Event.SCALED_BACKWARD: Gradients.SCALED, Event.PLAIN_BACKWARD: Gradients.PLAIN}
_BACKWARDS = frozenset(_MADE)
_OVERWRITING = frozenset({Event.WRITE, Event.ASSIGN})
_SHARED = frozenset({Event.UNSCALE, Event.SCALER_STEP, Event.OPTIMIZER_STEP, Event.CHECKED_STEP, Event.ZERO_GRAD})
_SETTLING = frozenset({Event.ZERO_GRAD, Event.SCALER_STEP, Event.OPTIMIZER_STEP, Event.CHECKED_STEP})


class IterationState(StrEnum):
    """Where a loop over a collection is, for the one element of it that is tracked."""

    AHEAD = "ahead"
    OWN = "own"
    OVER = "over"
    NONE = "none"
    """It is not among the elements that the loop iterates over."""


class Leftover(NamedTuple):
    """Gradients of a loss that other parameters were trained by, through these: a generator's, in a discriminator."""

    backward: int
    trained: frozenset[AccessPath]
    """The optimizers that the loss is for."""
    is_over: bool = False
    """One of them has stepped since."""


class Typestate(NamedTuple):
    """One optimizer on one path: its state, and the node of the latest event of each kind that can be blamed."""

    state: OptimizerState = OptimizerState()
    provenance: frozenset[tuple[Event, int]] = frozenset()
    touched: bool = False
    """Some event has been about it."""
    weak: bool = False
    """Its gradients come from a backward that may have been another optimizer's."""
    emptied: bool = False
    """They were zeroed, by a call that names this optimizer, and no backward has come since."""
    iteration: IterationState | None = None
    """In a loop over the collection that it is an element of: whether its iteration has come."""
    leftover: Leftover | None = None
    """Gradients that the loss of another optimizer has left in its parameters."""
    scales: frozenset[ScalerOrigin | None] = frozenset()
    """The scalers of the backwards since they were zeroed or used, where scalers can be told apart."""

    def latest(self, event: Event) -> int | None:
        """The node of the latest event of a kind, where it can still be blamed."""
        return next((node for kind, node in self.provenance if kind is event), None)


Typestates = tuple[tuple[AccessPath, Typestate], ...]
"""Each optimizer, in order, and its typestate."""


def advanced(before: Typestate, event: Event, number: int, *, aimed: bool) -> tuple[Typestate, Fault | None]:
    """Advance by the protocol's table, but accept a zero_grad of what another optimizer's backward may have left.

    `aimed`: the event at that node names this optimizer.
    """
    after, fault = advance(before.state, event)
    if event is Event.ZERO_GRAD and before.weak:
        after, fault = after._replace(gradients=Gradients.NONE), None
    elif event in _BACKWARDS and before.weak:  # what may be there may as well not be
        after, fault = after._replace(gradients=_MADE[event]), None
    elif event is Event.SCALER_STEP and before.emptied:  # whosever they were, there is nothing to step with
        fault = Fault(Violation.ZERO_GRAD_MISPLACED, Event.ZERO_GRAD)
    emptied = _stays_emptied(before, event, aimed)
    following = Typestate(
        after,
        _provenance(before, after, event, number, emptied=emptied),
        touched=before.touched or event in _BLAMED,
        weak=before.weak and event not in _SETTLING and event not in _BACKWARDS,
        emptied=emptied,
        iteration=before.iteration,
        leftover=None if event in _SETTLING or event in _OVERWRITING else before.leftover,
        scales=frozenset() if event in _SETTLING else before.scales,
    )
    return following, fault


def _stays_emptied(before: Typestate, event: Event, aimed: bool) -> bool:
    if event is Event.ZERO_GRAD:
        had_some = before.weak and before.state.gradients in (Gradients.SCALED, Gradients.UNSCALED)
        return before.emptied or (aimed and had_some)
    return before.emptied and event in (Event.UNSCALE, Event.CLIP, Event.READ, Event.UPDATE)


def weakly_advanced(before: Typestate, event: Event, number: int) -> Typestate:
    """Weak update: a backward that may or may not reach this optimizer's parameters; it violates nothing."""
    scaled = event is Event.SCALED_BACKWARD
    gradients = before.state.gradients
    if gradients in (Gradients.UNSCALED, Gradients.MIXED):
        return before
    if scaled or gradients is not Gradients.UNKNOWN_CLIPPED:
        gradients = Gradients.SCALED if scaled else Gradients.PLAIN
    after = OptimizerState(gradients, before.state.scaler)
    provenance = _provenance(before, after, event, number)
    weak = before.weak or gradients is not before.state.gradients  # what was surely there is there still
    return before._replace(state=after, provenance=provenance, weak=weak, emptied=False)


def shared(before: Typestate, event: Event, overlap: Overlap) -> Typestate:
    """An event of another optimizer that shares parameters: what this one's gradients hold then is not known.

    But for a zero_grad of all of them.
    """
    if before.state.gradients in (Gradients.NONE, Gradients.UNKNOWN) or event not in _SHARED:
        return before
    is_zeroed = event is Event.ZERO_GRAD and overlap is Overlap.WITHIN
    gradients = Gradients.NONE if is_zeroed else Gradients.UNKNOWN
    return before._replace(state=before.state._replace(gradients=gradients), leftover=None, weak=True)


def _provenance(
    before: Typestate, after: OptimizerState, event: Event, number: int, *, emptied: bool = False
) -> frozenset[tuple[Event, int]]:
    """The provenance after an event: only of kinds that can still be blamed, or that tell where an iteration ended."""
    kinds = _blamable()[after]
    if emptied or after.gradients is Gradients.NONE:
        kinds |= {Event.ZERO_GRAD}
    found = before.provenance | {(event, number)} if event in kinds else before.provenance
    return frozenset(each for each in found if each[0] in kinds and (each[0] is not event or each[1] == number))


@cache
def _blamable() -> dict[OptimizerState, frozenset[Event]]:
    """For every state the kinds of events before it that the protocol can blame for a violation after it."""
    states = [OptimizerState(gradients, scaler) for gradients in Gradients for scaler in ScalerState]
    rows = {(state, event): advance(state, event) for state in states for event in Event}
    found: dict[OptimizerState, set[Event]] = {state: set() for state in states}
    for (state, event), (_, fault) in rows.items():
        if fault is not None and (fault.event is not event or fault.violation.traits.blames_earlier):
            found[state].add(fault.event)
    grown = True
    while grown:
        grown = False
        for (state, event), (after, _) in rows.items():
            more = found[after] - {event} - found[state]
            found[state] |= more
            grown = grown or bool(more)
    return {state: frozenset(kinds) for state, kinds in found.items()}


def iterated(optimizers: Typestates, member: Iterate) -> Typestates | None:
    """Loops over a collection: the tracked element has one iteration in each; None where a path gives it no or two."""
    after = []
    for name, typestate in optimizers:
        iteration = typestate.iteration
        if name.is_below(member.target):
            match member.part:
                case IterationPart.ENTER:
                    iteration = IterationState.AHEAD
                case IterationPart.ENTER_WITHOUT:
                    iteration = IterationState.NONE
                case IterationPart.TRACKED if iteration is not IterationState.AHEAD:
                    return None  # it has had its iteration
                case IterationPart.TRACKED:
                    iteration = IterationState.OWN
                case IterationPart.OTHER if iteration is IterationState.OWN:
                    iteration = IterationState.OVER
                case IterationPart.LEAVE if iteration is IterationState.AHEAD:
                    return None  # the loop iterates over all of them
                case IterationPart.LEAVE:
                    iteration = None
        same = iteration is typestate.iteration
        after.append((name, typestate if same else typestate._replace(iteration=iteration)))
    return tuple(after)


def passed_over(before: Typestate, event: Event, aimed: bool) -> Typestate:
    """An event in the iteration of another element: only a zero_grad that is about all of them counts here too."""
    if event is Event.ZERO_GRAD and not aimed:
        return before._replace(state=before.state._replace(gradients=Gradients.NONE))
    return before
