"""The state of one set of parameters while the events of a run are walked through the protocol's table.

Gradients belong to the parameters; what the scaler remembers belongs to the optimizer object that it was given. Two
optimizers over the same parameters share the one, and have the other each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from verifygate.execution.observed_violation import ObservedViolation
from verifygate.execution.recorded_trace import Event
from verifygate.protocol import Event as ProtocolEvent
from verifygate.protocol import OptimizerState, ScalerState


@dataclass
class ParameterSet:
    """What is known of the gradients of one set of parameters."""

    number: int
    """That of its optimizer in the record, or of the first of several over the same parameters."""
    state: OptimizerState = field(default_factory=OptimizerState)
    scaler: int | None = None
    """The scaler that scaled, unscaled or stepped it last."""
    path: list[Event] = field(default_factory=list)
    """The events of the present window."""
    last: dict[ProtocolEvent, Event] = field(default_factory=dict)
    pending: list[ObservedViolation] = field(default_factory=list)
    """Violations that count once a step uses the gradients."""
    bounded: Event | None = None
    """A write that took the inf out of scaled gradients by hand."""
    object: int | None = None
    """The optimizer object that the scaler's part of the state is about."""
    others: dict[int, ScalerState] = field(default_factory=dict)
    """What the scaler remembers of the other optimizers over these parameters."""
    divided: Event | None = None
    """What unscaled some of these gradients as those of another optimizer, whose parameters overlap."""
    rewritten: list[Event] = field(default_factory=list)
    """Writes by hand to scaled gradients in this window."""
    hidden: Event | None = None
    """The write, of these, that left nothing of an inf for the scaler to find."""
    checked: Event | None = None
    """The scaler's look that found no inf after that."""
    replaced: Event | None = None
    """The last write that put something else in the place of gradients."""
    backwards: int = 0
    """Of this window."""
    closed_after: int = 0
    """The backwards of the last window that a step closed."""
    wiped: Event | None = None
    """A backward of this window whose gradients were thrown away."""
    wiped_again: list[ObservedViolation] = field(default_factory=list)
    """In how many windows a backward's gradients were thrown away for those of the same statement."""
    wiped_now: ObservedViolation | None = None
    windows: int = 0

    def path_to(self, event: Event) -> tuple[Event, ...]:
        """The events of the present window up to this one."""
        return tuple(self.path) if self.path and self.path[-1] is event else (*self.path, event)


def named(number: int, fact: Mapping[str, Any]) -> str:
    """`Adam 2 (Net: head.weight, head.bias and 3 more)`: an optimizer, by the parameters whose gradients it steps."""
    names, tensors = [str(name) for name in fact.get("names", ())], int(fact.get("tensors", 0))
    shown = ", ".join(names) + (f" and {tensors - len(names)} more" if tensors > len(names) else "")
    owner = f"{fact['model']}: " if names and fact.get("model") else ""
    return f"{fact.get('type', 'optimizer')} {number}" + (f" ({owner}{shown})" if names else "")
