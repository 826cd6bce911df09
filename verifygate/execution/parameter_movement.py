"""Judge which parameters the first steps moved."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from verifygate.model.health import Movement, ParameterMovement

ROUNDED = 0.5
"""From which share of unmoved elements on a parameter in half precision is named."""
STEPS = 2
"""Steps with a gradient that a statement about a parameter needs."""
STILL = frozenset({Movement.STUCK, Movement.ROUNDED, Movement.OVERWRITTEN, Movement.NOT_OPTIMIZED, Movement.SKIPPED})
"""What keeps a parameter with a gradient from learning."""
HALF = frozenset({"float16", "bfloat16"})


def movements(told: Iterable[dict[str, Any]]) -> tuple[ParameterMovement, ...]:
    """Every parameter of the first process that told of its own, in the order in which they were seen."""
    fact = next((each for each in told if each["event"] == "parameter-moves" and each["rows"]), None)
    if fact is None:
        return ()
    return tuple(_one(row, fact) for row in fact["rows"])


def _one(row: dict[str, Any], fact: dict[str, Any]) -> ParameterMovement:
    share = row["unmoved"] / row["reached"] if row["reached"] else None
    return ParameterMovement(name=row["name"], dtype=row["dtype"], movement=_movement(row, fact, share), unmoved=share)


def _movement(row: dict[str, Any], fact: dict[str, Any], share: float | None) -> Movement:
    if not row["trainable"]:
        return Movement.FROZEN_MOVED if row["changed"] else Movement.FROZEN
    if row["stepped"]:
        return _after_steps(row, share or 0.0)
    if row["changed"]:
        return Movement.MOVED
    if not row["gradient"]:
        return Movement.NO_GRADIENT
    if row["optimized"] and fact["windows"] and not fact["steps"]:
        return Movement.SKIPPED
    if not row["optimized"]:
        return Movement.NOT_OPTIMIZED
    return Movement.NOT_JUDGED if row["sparse"] or row["rate"] else Movement.RATE_ZERO


def _after_steps(row: dict[str, Any], share: float) -> Movement:
    """A parameter that an optimizer stepped on a gradient that is not zero."""
    if row["stepped"] < STEPS:
        return Movement.MOVED if row["changed"] else Movement.NOT_JUDGED
    if row["moved"] == row["began_alike"] == row["stepped"]:
        return Movement.OVERWRITTEN
    if row["dtype"] in HALF and share > ROUNDED:
        return Movement.ROUNDED
    return Movement.MOVED if row["moved"] or row["changed"] else Movement.STUCK
