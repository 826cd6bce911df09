"""Confidence intervals for paired comparisons, and what they allow one to say about a target.

The quantiles are scipy's, from the extra `performance`; it is imported when the first one is asked for.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from statistics import fmean, median, stdev

from verifygate.base.distribution import install
from verifygate.model import Status

ERROR = 0.05
"""How often at most the true value may lie outside an interval, on either side together, over all looks at it."""
COARSE_TICK = 0.01
MIN_GRADED_ITEMS = 10
"""Below this many graded (not yes-or-no) scores their spread says nothing."""


@dataclass(frozen=True)
class Interval:
    """An estimate, and the ends between which the true value lies in at least 95 of 100 such measurements."""

    value: float
    low: float
    high: float

    @property
    def finite(self) -> bool:
        return all(math.isfinite(end) for end in (self.value, self.low, self.high))


def missing_library() -> str:
    """What is to be installed before anything can be judged; empty where it is there."""
    if importlib.util.find_spec("scipy"):
        return ""
    return f"judging a measurement needs scipy: `{install('performance')}`"


def ratio(base: Sequence[float], other: Sequence[float], *, looks: int = 1) -> Interval | None:
    """How many times as large `base` is as `other`, from one figure of each per round; None where it cannot be said.

    The value is the geometric mean of the rounds' ratios, the interval Student's t on their logarithms: rounds, not
    steps, are the independent repetitions, and drift between rounds cancels in a pair.
    Resampling a handful of rounds (a bootstrap) would give intervals that are too narrow. `looks` is at how many
    numbers of rounds one planned to look: each of them gets its share of the error (Bonferroni), so that stopping at
    whichever look decides is wrong no oftener than one look would be.
    """
    if len(base) != len(other) or not (positive(base) and positive(other)):
        return None
    return geometric([left / right for left, right in zip(base, other, strict=True)], looks=looks)


def geometric(figures: Sequence[float], *, looks: int = 1) -> Interval | None:
    """The geometric mean of one figure for each round, with Student's t on the logarithms; None with less than two."""
    if len(figures) < 2 or not positive(figures):
        return None
    logs = [math.log(each) for each in figures]
    centre = fmean(logs)
    half = student_t(len(logs) - 1, ERROR / looks) * stdev(logs) / math.sqrt(len(logs))
    return Interval(math.exp(centre), math.exp(centre - half), math.exp(centre + half))


def mean_difference(differences: Sequence[float], of_answers: bool) -> Interval | None:
    """The mean of the items' differences; None where there are too few of them. `of_answers`: of yes-or-no scores.

    Those take Agresti and Min's interval, which adds half an item to each of the four outcomes: ten items on which both
    arms agree do not show that they agree everywhere. Graded scores take Student's t, and need at least ten items.
    """
    value, n = fmean(differences), len(differences)
    if of_answers:
        total, squares = sum(differences), sum(d * d for d in differences) + 1.0
        centre = total / (n + 2)
        half = normal() * math.sqrt(max(0.0, squares - total * total / (n + 2))) / (n + 2)
        return Interval(value, max(-1.0, min(value, centre - half)), min(1.0, max(value, centre + half)))
    if n < MIN_GRADED_ITEMS:
        return None
    half = student_t(n - 1) * stdev(differences) / math.sqrt(n)
    return Interval(value, value - half, value + half)


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


def too_coarse(seconds: Sequence[float]) -> bool:
    """Whether the clock ticks so slowly that a median of such times is the clock's figure rather than the step's.

    Times off a coarse clock are few values, many times over, a tick apart; one hundredth of a step is a coarse tick.
    """
    values = sorted({round(each, 9) for each in seconds})
    if 2 * len(values) > len(seconds):
        return False
    tick = min((after - before for before, after in pairwise(values)), default=values[0])
    return tick > COARSE_TICK * median(seconds)


def yes_or_no(scores: Sequence[float]) -> bool:
    return all(score in (0.0, 1.0) for score in scores)


@lru_cache
def student_t(freedom: int, error: float = ERROR) -> float:
    """The t outside of which Student's distribution with `freedom` degrees has the share `error`, on both sides."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 1 - error / 2))


@lru_cache
def normal(error: float = ERROR) -> float:
    """The same for the normal distribution."""
    from scipy.special import ndtri

    return float(ndtri(1 - error / 2))
