"""Intervals for the samples of one arm: a mean, and the slope of a straight line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev

from verifygate.performance.intervals import Interval, student_t


def mean(samples: Sequence[float]) -> Interval | None:
    """The mean with its 95 % interval (Student's t); None for fewer than two samples."""
    n = len(samples)
    if n < 2:
        return None
    value, half = fmean(samples), student_t(n - 1) * stdev(samples) / math.sqrt(n)
    return Interval(value, value - half, value + half)


def slope(values: Sequence[float]) -> Interval | None:
    """What each value has more than the one before, by least squares, with its 95 % interval; None for fewer than 3."""
    n = len(values)
    if n < 3:
        return None
    centre, middle = (n - 1) / 2, fmean(values)
    spread = sum((index - centre) ** 2 for index in range(n))
    value = sum((index - centre) * (each - middle) for index, each in enumerate(values)) / spread
    rest = sum((each - middle - value * (index - centre)) ** 2 for index, each in enumerate(values))
    half = student_t(n - 2) * math.sqrt(rest / (n - 2) / spread)
    return Interval(value, value - half, value + half)
