"""How the arms trained, thinned out to what a picture can show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean

from verifygate.model import Curve, CurvePoint
from verifygate.performance.comparison import ArmRecord, Comparison, Training

MOST_POINTS = 150
MOST_SKIPPED = 200
"""So many skipped steps are named at the most."""


def curves(comparison: Comparison) -> tuple[Curve, ...]:
    """The first seed's training of each arm that came to the end of it."""
    return tuple(_curve(arm, arm.trainings[0]) for arm in comparison.arms if arm.trainings)


def _curve(arm: ArmRecord, training: Training) -> Curve:
    scores = [score for score in training.scores if math.isfinite(score)]
    falls = [step for step, (before, after) in enumerate(pairwise(training.scales), start=2) if after < before]
    on_the_way = [(step, mean) for step, mean in training.accuracy if math.isfinite(mean)]
    at_the_end = [(training.steps, fmean(scores))] if scores else []
    return Curve(
        arm=arm.name,
        loss=thinned(training.losses),
        accuracy=tuple(CurvePoint(step=step, value=mean) for step, mean in (*on_the_way, *at_the_end)),
        scale=changes(training.scales),
        skipped=tuple(falls[:MOST_SKIPPED]),
    )


def thinned(values: Sequence[float]) -> tuple[CurvePoint, ...]:
    """Means over equal stretches of steps; a stretch with a value that is no finite number is left out."""
    width = -(-len(values) // MOST_POINTS) or 1
    stretches = [(start, values[start : start + width]) for start in range(0, len(values), width)]
    return tuple(
        CurvePoint(step=start + len(part), value=fmean(part))
        for start, part in stretches
        if all(map(math.isfinite, part))
    )


def changes(scales: Sequence[float]) -> tuple[CurvePoint, ...]:
    """The loss scale at the first step, wherever it changed, and at the last step; nothing where it is always 1."""
    if all(scale == 1.0 for scale in scales):
        return ()
    points = [
        CurvePoint(step=step, value=scale)
        for step, scale in enumerate(scales, start=1)
        if math.isfinite(scale) and (step in (1, len(scales)) or scale != scales[step - 2])
    ]
    return tuple(points[:MOST_POINTS])
