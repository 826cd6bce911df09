"""What a run shows of weights in half precision: updates that rounding takes away, weights that become inf or NaN."""

from __future__ import annotations

from collections.abc import Iterator

from verifygate.execution.observed_violation import Form, ObservedViolation
from verifygate.execution.recorded_trace import Event, Section
from verifygate.protocol import Violation

GRAVE = 0.5
"""The share of lost updates from which on it is said that rounding takes them away."""
SAMPLES = 2
"""Steps that were sampled, at least."""
REACHED = 16
"""Elements that float32 would have moved, at least."""
FLOAT16_UNDERFLOW = 2.0**-25
"""What is not above it is zero in float16."""


def violations_of_weights(section: Section) -> Iterator[ObservedViolation]:
    """AMP701, AMP402, AMP305, of the weights of each optimizer."""
    groups = [event for event in section.events if event.kind == "updates"]
    scaled = any(event.kind == "scale" for event in section.events)
    for event in groups:
        if _is_grave(event):
            yield ObservedViolation(Violation.LOW_PRECISION_WEIGHTS, event, event, (event,))
    for event in section.events:
        if event.kind == "nonfinite":
            same = [each for each in groups if each.optimizers() == event.optimizers()]
            yield from _not_finite(event, same, scaled)


def _is_grave(event: Event) -> bool:
    """Whether most updates were lost: of all that were sampled, in most of the samples, and in the last one.

    A schedule that begins or ends with small steps loses some; those are not the whole of a training.
    """
    movable, lost, last = (event.fields.get(name) for name in ("movable", "lost", "last"))
    if movable is None or lost is None or last is None or event.fields["steps"] < SAMPLES or movable < REACHED:
        return False
    return bool(lost > GRAVE * movable and last > GRAVE and event.fields["grave"] > GRAVE)


def _not_finite(event: Event, groups: list[Event], scaled: bool) -> Iterator[ObservedViolation]:
    half = [each for each in groups if each.fields.get("dtype") == "float16"]
    small = [each for each in half if 0.0 < (each.fields.get("eps") or 0.0) <= FLOAT16_UNDERFLOW]
    became = event.fields["weights"]  # they were finite before this very step
    if became and event.fields["gradients"] and small:
        yield ObservedViolation(Violation.EPSILON_UNDERFLOW, event, event, (event,), form=Form.ZERO_DIVISION)
    elif not became and small:
        yield ObservedViolation(Violation.EPSILON_UNDERFLOW, event, event, (event,), certain=False)
    elif half and not scaled:
        yield ObservedViolation(
            Violation.FP16_WITHOUT_SCALER, event, event, (event,), certain=False, form=Form.NONFINITE_STEP
        )
