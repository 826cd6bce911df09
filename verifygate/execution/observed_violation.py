"""A violation that a run showed, and the events that show it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from verifygate.execution.recorded_trace import Event
from verifygate.protocol import Violation


class Form(StrEnum):
    """What a rule covers beside that which its name says; each is described in words of its own."""

    HIDDEN_OVERFLOW = "an inf is taken out of the gradients before the scaler looks"
    UNSCALED_SUM = "something that has no scale is added to scaled gradients"
    OTHER_SCALER = "one scaler scales, and another one steps"
    ENDED_RUN = "an inf ends the run"
    REFUSED_BACKWARD = "a framework refuses a backward that is not its own"
    BFLOAT16_GRADIENTS = "a scaler is given gradients in bfloat16"
    SHARD_NORM = "a clip by the norm of a shard"
    DEVICE_OF_A_TEST = "a test put what it trains on another device than a region is for"
    LOST_REGION = "autocast is lost, and the scaler goes on"
    ZERO_DIVISION = "an optimizer's eps is zero in the dtype of its weights"
    NONFINITE_STEP = "half weights take a step that is not finite"


@dataclass(frozen=True)
class ObservedViolation:
    """A violation, as a run showed it."""

    violation: Violation
    blamed: Event
    """What was done wrong."""
    shown: Event
    """What it was seen by; often the same."""
    path: tuple[Event, ...]
    certain: bool = True
    before: Event | None = None
    """What the violation comes too early or too late after: the order of the two is the fault."""
    form: Form | None = None
    """Which form of the violation it is, where the rule has several."""
    whose: str = ""
    """The optimizer and the parameters whose gradients it is about; empty where it is about no gradients."""
