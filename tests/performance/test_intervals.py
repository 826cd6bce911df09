"""The intervals say what they promise: known quantiles, known coverage, and no PASS for a gain that is not there."""

from __future__ import annotations

import math
import random
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifygate.model import Status
from verifygate.performance.intervals import (
    Interval,
    at_least,
    mean_difference,
    ratio,
    student_t,
    within,
)


def dice(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311


def rounds(mean: float, noise: float, draw: random.Random, count: int = 6) -> list[float]:
    """Rounds whose median of ten step times lies around `mean`, each step within `noise` of it."""
    return [median(mean * draw.uniform(1 - noise, 1 + noise) for _ in range(10)) for _ in range(count)]


@pytest.mark.parametrize(
    ("freedom", "t"), [(1, 12.7062), (2, 4.3027), (3, 3.1824), (4, 2.7764), (9, 2.2622), (30, 2.0423), (1000, 1.9623)]
)
def test_student_t_is_the_tabled_one(freedom: int, t: float) -> None:
    """The quantiles agree with every printed table."""
    assert student_t(freedom) == pytest.approx(t, abs=1e-4)


@given(st.integers(0, 10**6), st.floats(0, 0.05))
def test_a_true_gain_passes(seed: int, noise: float) -> None:
    """A true 1.8 reaches 1.5 whatever the noise within five percent."""
    draw = dice(seed)
    interval = ratio(rounds(1.8, noise, draw), rounds(1.0, noise, draw))
    assert interval is not None
    assert at_least(interval, 1.5) is Status.PASS


@given(st.integers(0, 10**6), st.floats(0, 0.06))
def test_a_gain_that_is_not_there_never_passes(seed: int, noise: float) -> None:
    """A true 1.3 never passes as 1.5."""
    draw = dice(seed)
    interval = ratio(rounds(1.3, noise, draw), rounds(1.0, noise, draw))
    assert interval is not None
    assert at_least(interval, 1.5) is not Status.PASS


@pytest.mark.parametrize("count", [3, 5, 10])
def test_the_ratio_interval_covers_the_truth(count: int) -> None:
    """The interval holds the true ratio about 95 times in 100, however few the rounds; resampling them does not."""
    draw, hits = dice(7), 0
    for _ in range(1000):
        pair = [[mean * math.exp(draw.gauss(0, 0.05)) for _ in range(count)] for mean in (1.5, 1.0)]
        interval = ratio(*pair)
        hits += interval is not None and interval.low <= 1.5 <= interval.high
    assert 925 <= hits <= 975


@pytest.mark.parametrize("broken", [math.nan, math.inf, 0.0, -1.0])
def test_a_sample_that_is_no_time_is_refused(broken: float) -> None:
    """No ratio comes of a sample that is NaN, infinite, zero or negative."""
    assert ratio([broken, 1.0], [1.0, 1.0]) is None
    assert ratio([1.0, 1.0], [1.0, broken]) is None


@given(st.floats(allow_nan=True, allow_infinity=True), st.sampled_from([at_least, within]))
def test_nothing_that_is_no_number_passes(value: float, judge: object) -> None:
    """NaN and infinity end neither in PASS nor in FAIL, in whichever place they stand."""
    for interval in (Interval(value, 1.0, 1.0), Interval(1.0, value, 1.0), Interval(1.0, 1.0, value)):
        if not math.isfinite(value):
            assert judge(interval, 0.5) is Status.NOT_MEASURED  # type: ignore[operator]


def test_too_noisy_is_neither_pass_nor_fail() -> None:
    """An interval that holds the target proves nothing."""
    assert at_least(Interval(1.6, 1.4, 1.8), 1.5) is Status.NOT_MEASURED
    assert within(Interval(0.0, -0.02, 0.02), 0.01) is Status.NOT_MEASURED
    assert at_least(Interval(1.4, 1.3, 1.49), 1.5) is Status.FAIL
    assert within(Interval(-0.05, -0.08, -0.02), 0.01) is Status.FAIL


def test_agreeing_on_a_few_items_does_not_prove_parity() -> None:
    """Twenty items on which both arms agree leave room for a hundredth; a thousand do not."""
    few, many = (mean_difference([0.0] * items, of_answers=True) for items in (20, 1000))
    assert within(few or Interval(0, 0, 0), 0.01) is Status.NOT_MEASURED
    assert within(many or Interval(1, 1, 1), 0.01) is Status.PASS


def test_a_large_loss_of_accuracy_fails() -> None:
    """Every tenth item lost is outside a hundredth."""
    interval = mean_difference([-1.0 if item % 10 == 0 else 0.0 for item in range(1000)], of_answers=True)
    assert interval is not None
    assert interval.value == pytest.approx(-0.1)
    assert within(interval, 0.01) is Status.FAIL


def test_graded_scores_need_a_spread() -> None:
    """The differences of nine graded scores are too few, ten are judged."""
    assert mean_difference([0.001] * 9, of_answers=False) is None
    assert mean_difference([0.001] * 10, of_answers=False) == Interval(
        0.001, pytest.approx(0.001), pytest.approx(0.001)
    )


def test_the_interval_of_graded_scores_is_students() -> None:
    """Differences that alternate around their mean: the half-width is t times their spread over the root of n."""
    interval = mean_difference([-0.01 + 0.002 * (-1) ** item for item in range(50)], of_answers=False)
    assert interval is not None
    half = student_t(49) * 0.002 * math.sqrt(50 / 49) / math.sqrt(50)
    assert (interval.low, interval.high) == (pytest.approx(-0.01 - half), pytest.approx(-0.01 + half))
    assert interval.high < 0
