"""A record's summary, computed from its samples by the code that judges them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from verifygate.config.performance import PerformanceSettings
from verifygate.performance.attestation.statement import Figure
from verifygate.performance.comparison import Comparison
from verifygate.performance.judgement import beside, judge

TOLERANCE = 1e-6
"""Relative: two machines' mathematics may differ in the last bits."""


def figures(comparison: Comparison) -> tuple[Figure, ...]:
    """Every value that follows from the samples, whatever the targets are."""
    free = PerformanceSettings()
    judged = [measurement for answer in judge(comparison, free) for measurement in answer.measurements]
    found = {
        measurement.id: Figure(
            id=measurement.id,
            value=_finite(measurement.value),
            low=_finite(measurement.low),
            high=_finite(measurement.high),
        )
        for measurement in (*judged, *beside(comparison, free))
    }
    return tuple(found[name] for name in sorted(found))


def disagreements(comparison: Comparison, told: Sequence[Figure]) -> list[str]:
    """Ids of figures that do not follow from the samples, or are left out of the summary."""
    there = {figure.id: figure for figure in told}
    here = {figure.id: figure for figure in figures(comparison)}
    names = sorted({*there, *here})
    return [name for name in names if name not in there or name not in here or not _same(there[name], here[name])]


def _same(one: Figure, other: Figure) -> bool:
    pairs = ((one.value, other.value), (one.low, other.low), (one.high, other.high))
    return all(
        left == right
        or (left is not None and right is not None and math.isclose(left, right, rel_tol=TOLERANCE, abs_tol=1e-12))
        for left, right in pairs
    )


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
