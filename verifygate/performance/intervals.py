"""95 % confidence intervals for paired comparisons, and what they allow one to say about a target."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist, fmean, median, stdev

from verifygate.model import Status

CONFIDENCE = 0.95
MIN_GRADED_ITEMS = 10
"""Below this many graded (not yes-or-no) scores their spread says nothing."""


@dataclass(frozen=True)
class Interval:
    """An estimate, and the ends between which the true value lies in 95 of 100 such measurements."""

    value: float
    low: float
    high: float

    @property
    def finite(self) -> bool:
        return all(math.isfinite(end) for end in (self.value, self.low, self.high))


def ratio(base: Sequence[Sequence[float]], other: Sequence[Sequence[float]]) -> Interval | None:
    """How many times as large `base` is as `other`, from rounds that pair them; None where that cannot be said.

    Each round gives the ratio of its two medians. The value is their geometric mean, the interval Student's t on
    their logarithms: rounds, not steps, are the independent repetitions, and drift between rounds cancels in a pair.
    """
    if len(base) != len(other) or len(base) < 2:
        return None
    logs = []
    for left, right in zip(base, other, strict=True):
        if not (positive(left) and positive(right)):
            return None
        logs.append(math.log(median(left) / median(right)))
    centre = fmean(logs)
    half = student_t(len(logs) - 1) * stdev(logs) / math.sqrt(len(logs))
    return Interval(math.exp(centre), math.exp(centre - half), math.exp(centre + half))


def paired_difference(base: Sequence[float], other: Sequence[float]) -> Interval | None:
    """Mean of `other` minus mean of `base`, from scores of the same items; None where that cannot be said.

    Yes-or-no scores take Agresti and Min's interval, which adds half an item to each of the four outcomes: ten items
    on which both arms agree do not show that they agree everywhere. Graded scores take Student's t on the
    differences, and need at least ten of them.
    """
    if len(base) != len(other) or not base or not all(map(math.isfinite, (*base, *other))):
        return None
    differences = [after - before for before, after in zip(base, other, strict=True)]
    value, n = fmean(differences), len(differences)
    if yes_or_no(base) and yes_or_no(other):
        total, squares = sum(differences), sum(d * d for d in differences) + 1.0
        centre = total / (n + 2)
        half = _z() * math.sqrt(max(0.0, squares - total * total / (n + 2))) / (n + 2)
        return Interval(value, max(-1.0, centre - half), min(1.0, centre + half))
    if n < MIN_GRADED_ITEMS:
        return None
    half = student_t(n - 1) * stdev(differences) / math.sqrt(n)
    return Interval(value, value - half, value + half)


def items_needed(interval: Interval, items: int, target: float) -> int | None:
    """About how many items would decide whether the difference is within `target`; None where it sits on the edge."""
    gap = abs(abs(interval.value) - target)
    half = (interval.high - interval.low) / 2
    return math.ceil(items * (half / gap) ** 2) + 1 if gap > 1e-12 else None


def at_least(interval: Interval, target: float) -> Status:
    """PASS where the whole interval reaches the target, FAIL where none of it does, else it is too noisy to say."""
    if not (interval.finite and math.isfinite(target)):
        return Status.NOT_MEASURED
    if interval.low >= target:
        return Status.PASS
    return Status.FAIL if interval.high < target else Status.NOT_MEASURED


def within(interval: Interval, target: float) -> Status:
    """PASS where the whole interval lies in [-target, target], FAIL where none of it does, else it is too noisy."""
    if not (interval.finite and math.isfinite(target)):
        return Status.NOT_MEASURED
    if -target <= interval.low and interval.high <= target:
        return Status.PASS
    return Status.FAIL if interval.low > target or interval.high < -target else Status.NOT_MEASURED


def positive(samples: Sequence[float]) -> bool:
    """Whether there are samples, and all of them are finite and above zero."""
    return bool(samples) and all(math.isfinite(sample) and sample > 0 for sample in samples)


def yes_or_no(scores: Sequence[float]) -> bool:
    return all(score in (0.0, 1.0) for score in scores)


@lru_cache
def student_t(freedom: int) -> float:
    """The t that holds the middle 95 % of Student's distribution with `freedom` degrees."""
    if freedom > 200:  # the first correction to the normal distribution is exact enough here
        return _z() + (_z() ** 3 + _z()) / (4 * freedom)
    low, high = 0.0, 20.0
    while high - low > 1e-10:
        middle = (low + high) / 2
        low, high = (middle, high) if _middle_share(middle, freedom) < CONFIDENCE else (low, middle)
    return high


def _middle_share(t: float, freedom: int) -> float:
    """Share of Student's distribution between -t and t (Abramowitz and Stegun 26.7.3 and 26.7.4)."""
    angle = math.atan(t / math.sqrt(freedom))
    odd = freedom % 2
    term = math.cos(angle) if odd else 1.0
    series = term if freedom > 1 else 0.0
    for k in range(2 + odd, freedom - 1, 2):
        term *= math.cos(angle) ** 2 * (k - 1) / k
        series += term
    share = math.sin(angle) * series
    return (angle + share) * 2 / math.pi if odd else share


@lru_cache
def _z() -> float:
    return NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
