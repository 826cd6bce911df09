"""The decisions are right about workloads whose truth is known, and wrong no oftener than they say."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulation import Evaluation, World, measured, one_after_the_other, trained, verdict
from simulation import settings as asked

from verifygate.model import Status
from verifygate.performance.intervals import Interval, at_least, ratio, within
from verifygate.performance.measuring import planned
from verifygate.performance.parity import parity

HOW = asked()
RUNS = 200
WRONG = 14
"""Of 200: a decision that is wrong 5 times in 200 (2.5 %) is so oftener than this less than once in a thousand."""


def answers(world: World, runs: int = RUNS) -> Counter[Status]:
    draw = np.random.default_rng(5)
    return Counter(verdict(measured(world, HOW, draw), HOW) for _ in range(runs))


@pytest.mark.parametrize(
    "machine",
    [
        pytest.param({}, id="usual"),
        pytest.param({"noise": 0.005, "drift": 0.005}, id="quiet", marks=pytest.mark.slow),
        pytest.param({"drift": 0.2}, id="wild"),
        pytest.param({"trend": 0.03}, id="warming", marks=pytest.mark.slow),
        pytest.param({"interrupted": 0.1}, id="interrupted", marks=pytest.mark.slow),
        pytest.param({"tick": 0.01}, id="coarse-clock"),
    ],
)
def test_at_the_edge_a_wrong_answer_is_rare(machine: dict[str, float]) -> None:
    """Where the true ratio is the target itself, either answer is an error, and no more than 2.5 % are either."""
    found = answers(World(1.5, **machine))
    assert found[Status.PASS] <= WRONG
    assert found[Status.FAIL] <= WRONG


def test_more_rounds_are_taken_and_then_given_up() -> None:
    """A clear case ends at the first look; one that stays undecided ends NOT MEASURED at the last."""
    draw = np.random.default_rng(6)
    clear, edge = (measured(World(true, drift=0.01), HOW, draw) for true in (1.8, 1.5))
    assert len(clear.base.rounds) == 6
    assert len(edge.base.rounds) == 24
    assert verdict(edge, HOW) is Status.NOT_MEASURED


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    noise=st.floats(0.001, 0.05),
    drift=st.floats(0, 0.06),
    trend=st.floats(-0.03, 0.03),
    interrupted=st.floats(0, 0.1),
)
def test_a_gain_is_judged_for_what_it_is(
    seed: int, noise: float, drift: float, trend: float, interrupted: float
) -> None:
    """On whatever machine, 1.3 never passes as 1.5, and 1.75 never fails."""
    draw = np.random.default_rng(seed)
    for true, never in ((1.3, Status.PASS), (1.75, Status.FAIL)):
        world = World(true, noise, drift, trend, interrupted)
        assert verdict(measured(world, HOW, draw), HOW) is not never


def test_arms_one_after_the_other_pass_a_gain_that_is_not_there() -> None:
    """On a machine that wanders by 5 % a block, a quarter of such measurements take 1.35 for 1.5; turns never do."""
    world, draw = World(1.35, drift=0.05), np.random.default_rng(7)
    wrong = sum(one_after_the_other(world, planned(HOW), draw) >= 1.5 for _ in range(1000))
    assert 180 <= wrong <= 310
    assert answers(world)[Status.PASS] == 0


def test_looking_after_every_round_is_wrong_too_often() -> None:
    """Planned looks share the error out; without that, stopping at the first lucky look breaks the promise."""
    draw, greedy = np.random.default_rng(8), 0
    for _ in range(400):
        times = np.exp(np.log(1.5) + draw.normal(0, 0.02, 24)).tolist()
        looks = (ratio(times[:n], [1.0] * n) for n in range(6, 25))
        greedy += any(at_least(interval or Interval(1, 1, 1), 1.5) is Status.PASS for interval in looks)
    assert greedy / 400 > 0.04


def test_work_that_was_not_done_is_no_gain() -> None:
    """2.0 times as fast by skipping two steps of five is 1.2; on other data it is nothing."""
    skipping = answers(World(2.0, skipped=0.4), 50)
    assert skipping[Status.PASS] == 0
    assert skipping[Status.FAIL] >= 40
    assert answers(World(2.0, other_seed=True), 20) == {Status.NOT_MEASURED: 20}


@pytest.mark.parametrize("spread", [pytest.param(0.0, marks=pytest.mark.slow), 0.002, 0.01])
@pytest.mark.parametrize("right", [0.9, 0.99])
def test_a_cost_at_the_edge_is_seldom_misjudged(spread: float, right: float) -> None:
    """A true cost of 0.01 is neither within nor beyond 0.01, however much the seeds differ."""
    draw = np.random.default_rng(9)
    found: Counter[Status] = Counter()
    for _ in range(RUNS):
        result = parity(*trained(Evaluation(0.01, items=500, right=right, seed_spread=spread), draw))
        assert result is not None
        found[within(result.interval, 0.01)] += 1
    assert found[Status.PASS] <= WRONG
    assert found[Status.FAIL] <= WRONG


def test_the_luck_of_a_seed_is_no_cost() -> None:
    """Arms that differ by seeds alone, as FP32 differs from itself by 0.03, are never said to differ by AMP."""
    draw, found = np.random.default_rng(10), Counter[Status]()
    for _ in range(RUNS):
        result = parity(*trained(Evaluation(0.0, items=400, right=0.8, seed_spread=0.03), draw))
        assert result is not None
        found[within(result.interval, 0.01)] += 1
    assert found[Status.FAIL] <= WRONG
    assert found[Status.PASS] == 0


def test_what_is_said_to_be_needed_does_decide() -> None:
    """So many items and seeds as are said to decide do decide, mostly, where there is no cost."""
    draw = np.random.default_rng(11)
    world = Evaluation(0.0, items=300, right=0.9)
    first = parity(*trained(world, draw))
    assert first is not None
    assert within(first.interval, 0.01) is Status.NOT_MEASURED
    items, seeds = first.items_needed(0.01), first.seeds_needed(0.01)
    assert items is not None
    assert seeds is not None
    passed = 0
    for _ in range(20):
        again = parity(*trained(Evaluation(0.0, items=items, seeds=seeds, right=0.9), draw))
        passed += again is not None and within(again.interval, 0.01) is Status.PASS
    assert passed >= 10


def test_a_tiny_evaluation_proves_nothing() -> None:
    """Twenty items on which both arms agree leave room for a hundredth, from however many seeds."""
    answered = [[1.0, 0.0] * 10] * 10
    found = parity(answered, answered)
    assert found is not None
    assert within(found.interval, 0.01) is Status.NOT_MEASURED
    needed = found.items_needed(0.01)
    assert needed is not None
    assert needed > 200
