"""What rules read of an event beyond what a recorded run can say: each fact with its place, decisions and evidence.

A model of a library hands an observation over with the event. It is a snapshot: nothing in it changes any more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from verifygate.base.records import record, replace
from verifygate.events.record import Dtypes
from verifygate.static.machine.values import NO_DECISIONS, Address, Decisions, Part, Place
from verifygate.static.uses.roles import Evidence


@record
class Weights:
    """Parameters of one module, as they may be at one moment. One part has several of these where states differ."""

    part: Part | None
    """Which they are; None for what is no parameter of a module that is known."""
    dtypes: Dtypes
    """Empty where they are not known."""
    place: Place | None = None
    """Where they got their dtype."""
    rounded: Dtypes = frozenset()
    """The dtypes that their values went through before."""
    decisions: Decisions = NO_DECISIONS
    """The options under which they are so."""
    is_trained: bool | None = True
    """None where that is not known."""
    reason: str = ""
    """Why the dtype is not known."""


@record
class Rate:
    """A learning rate that an optimizer may have; `value` is None where it is not known."""

    value: float | None
    decisions: Decisions = NO_DECISIONS


@record
class Optimized:
    """An optimizer, and what it steps at this moment."""

    optimizer: Address
    name: str
    """Canonical name of its class: `torch.optim.AdamW`."""
    weights: tuple[Weights, ...]
    rates: tuple[Rate, ...] = ()
    """None at all where its class has its own."""
    changed: str = ""
    """Why its parameters may be others than these: what it was handed to."""
    evidence: Evidence = Evidence.OBJECT
    is_own: bool = False
    """Its class is the project's, and derives from that one."""
    is_sharded: bool = False
    """Its parameters are sharded by a policy of mixed precision."""
    is_scaled: bool = False
    """A scaler steps it."""
    state: Dtypes = frozenset()
    """What its state is kept in, where that is not the dtype of its parameters."""

    @property
    def place(self) -> Place | None:
        """Where it was made."""
        return self.optimizer.place


@record
class Cast:
    """All parameters of a module were cast in place."""

    before: tuple[Weights, ...]
    after: tuple[Weights, ...]


@record
class Loaded:
    """Other values were put into these parameters: what they went through before is gone."""

    parts: frozenset[Part]


@record
class Accumulated:
    """A tensor was changed in place by something that is added to it, or that it is multiplied by."""

    operation: str
    """`add_`, `mul_` or `lerp_`."""
    dtypes: Dtypes
    made: Place | None
    """Where it got its dtype."""
    parts: frozenset[Part]
    """The parameters that it is; empty for another tensor."""
    is_one_number: bool
    is_older: bool
    """It was there before the function, or before a loop around."""
    factor: float | None
    """The number that it is multiplied by, or that of which so much is added; None where that is not known."""


@record
class Counted:
    """Whole numbers got this dtype."""

    dtypes: Dtypes
    largest: float
    """Infinite where it is not known."""


Observation: TypeAlias = Optimized | Cast | Loaded | Accumulated | Counted


def renamed(
    seen: Observation,
    address: Callable[[Address], Address],
    decisions: Callable[[Decisions], Decisions],
    place: Callable[[Place | None], Place | None] = lambda place: place,
) -> Observation:
    """The same observation of other objects: a call that was answered by an earlier one has it of its own."""

    def part(of: Part | None) -> Part | None:
        return None if of is None else Part(address(of.module), of.condition)

    def parts(of: frozenset[Part]) -> frozenset[Part]:
        return frozenset(Part(address(each.module), each.condition) for each in of)

    def weights(of: tuple[Weights, ...]) -> tuple[Weights, ...]:
        return tuple(
            replace(each, part=part(each.part), decisions=decisions(each.decisions), place=place(each.place))
            for each in of
        )

    match seen:
        case Optimized():
            rates = tuple(replace(each, decisions=decisions(each.decisions)) for each in seen.rates)
            return replace(seen, optimizer=address(seen.optimizer), weights=weights(seen.weights), rates=rates)
        case Cast():
            return Cast(weights(seen.before), weights(seen.after))
        case Loaded():
            return Loaded(parts(seen.parts))
        case Accumulated():
            return replace(seen, parts=parts(seen.parts), made=place(seen.made))
    return seen
