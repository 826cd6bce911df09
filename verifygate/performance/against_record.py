"""Compare AMP's gain with that of an earlier record. Ratios are compared, never seconds: those are of another day."""

from __future__ import annotations

import math

from verifygate.config.performance import PerformanceSettings
from verifygate.model import Check, Measurement, Status
from verifygate.performance.attestation.acceptance import device_of
from verifygate.performance.case import QUIETER, Answer
from verifygate.performance.comparison import Comparison
from verifygate.performance.intervals import Interval, at_least
from verifygate.performance.judgement import judge
from verifygate.performance.regression import vanished

KEPT = ("speedup", "memory-reduction")
"""Metrics of what AMP gains."""


def compared(now: Comparison, then: Comparison, path: str, settings: PerformanceSettings) -> list[Answer]:
    """The gains of now over those of a record, each with its interval, and what the record has and now has not."""
    here, there = _gains(now), _gains(then)
    answers = [_answer(there[name], here.get(name), now, then, path, settings) for name in there]
    return [*answers, Answer(vanished([name for name in there if name not in here]))]


def _gains(comparison: Comparison) -> dict[str, Measurement]:
    """Id -> measurement, of those that have an interval."""
    free = PerformanceSettings()
    found = [measurement for answer in judge(comparison, free) for measurement in answer.measurements]
    return {each.id: each for each in found if each.metric in KEPT and None not in (each.value, each.low, each.high)}


def _answer(
    then: Measurement,
    now: Measurement | None,
    here: Comparison,
    there: Comparison,
    path: str,
    settings: PerformanceSettings,
) -> Answer:
    least = 1 / (1 + settings.slowdown)
    reason, interval = "", None
    if device_of(here) != device_of(there):
        reason = f"{path} was measured on {device_of(there)}, and this on {device_of(here)}: gains differ by device"
    elif now is None:
        reason = "it cannot be measured any more"
    else:
        interval = _ratio(_gain(now), _gain(then))
        reason = "" if interval else "a gain is no positive number"
    status = at_least(interval, least) if interval else Status.NOT_MEASURED
    if interval and status is Status.NOT_MEASURED:
        reason = "too noisy: the 95 % interval holds the limit"
    measured = Measurement(
        id=f"{then.id}-against-record",
        title=f"{then.title}: now over {path}",
        metric=f"{then.metric}-against-record",
        unit="x",
        device=device_of(here),
        status=status,
        target=f">= {least:.3g}",
        value=interval.value if interval else None,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        method="one ratio over the other; their intervals joined on the logarithms, as those of independent runs",
        reason=reason,
    )
    check = Check(
        id=f"performance.{then.metric}-against-record",
        title=measured.title,
        status=status,
        expected=f"at least {least:.3g}, over the whole 95 % interval: {settings.slowdown:.0%} of the gain may go",
        actual=reason,
        measurement=measured.id,
        remedy={Status.PASS: "", Status.FAIL: "measure both revisions in one run: `--against REV`"}.get(
            status, QUIETER
        ),
    )
    return Answer(check, (measured,))


def _gain(measurement: Measurement) -> Interval:
    """The gain as a ratio above 0: of a share that is saved, FP32's need over AMP's."""
    value, low, high = measurement.value or 0.0, measurement.low or 0.0, measurement.high or 0.0
    if measurement.metric == "memory-reduction":
        return Interval(*(1 / (1 - end) if end < 1 else math.inf for end in (value, low, high)))
    return Interval(value, low, high)


def _ratio(one: Interval, other: Interval) -> Interval | None:
    """`one` over `other`, of independent measurements."""
    ends = (one.value, one.low, one.high, other.value, other.low, other.high)
    if not all(math.isfinite(end) and end > 0 for end in ends):
        return None
    centre = math.log(one.value / other.value)
    half = math.hypot(*(math.log(each.high / each.low) / 2 for each in (one, other)))
    return Interval(math.exp(centre), math.exp(centre - half), math.exp(centre + half))
