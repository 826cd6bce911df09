"""Whether AMP trains as well as FP32: an equivalence test over the items of the evaluation and over seeds.

Two trainings that differ in nothing but the seed end at different scores, and so do two that differ in precision. So a
difference is a cost of AMP only where it exceeds what the luck of a seed makes of it: the difference of each seed's
pair is one observation, and the items that both were asked say how well each of them is known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from verifygate.performance.intervals import Interval, mean_difference, student_t, yes_or_no

Scores = Sequence[Sequence[float]]
"""One row of scores for each seed; the same items in the same order in every row."""
MOST_SEEDS = 1000


@dataclass(frozen=True)
class Parity:
    """The mean difference of score, AMP minus FP32, with what its uncertainty is made of."""

    interval: Interval
    """With one seed it is about these two trainings alone, and says nothing of AMP."""
    seeds: int
    items: int
    of_items: float
    """Half the width of the interval that the items alone would give."""
    seed_spread: float | None
    """Standard deviation of FP32's own mean score from seed to seed; None where there is one seed only."""
    spread_of_differences: float | None
    """Standard deviation, from seed to seed, of the difference between the arms."""

    def items_needed(self, target: float) -> int | None:
        """About how many items would leave room for a decision; None where the value sits on the edge."""
        room = self._room(target)
        return max(self.items, math.ceil(self.items * (self.of_items / room) ** 2) + 1) if room > 1e-9 else None

    def seeds_needed(self, target: float) -> int | None:
        """About how many seeds would; None where the value sits on the edge, or where there is one seed only."""
        room, spread = self._room(target), self.spread_of_differences
        if spread is None or room <= 1e-9:
            return None
        for seeds in range(max(2, self.seeds), MOST_SEEDS):
            if student_t(seeds - 1) * spread / math.sqrt(seeds) <= room:
                return seeds
        return None

    def _room(self, target: float) -> float:
        """Half-width that seeds and items may each contribute so that the interval stays on one side of the target."""
        return abs(target - abs(self.interval.value)) / math.sqrt(2)


def parity(base: Scores, other: Scores) -> Parity | None:
    """Compare the arms' scores; None where they cannot be: no scores, other numbers of items, no finite numbers.

    The two uncertainties are added as independent ones (their half-widths' squares): Student's t on the seeds'
    differences, and Agresti and Min's interval, or Student's t, on the items' differences averaged over the seeds.
    What is due to both is counted twice, so the interval is somewhat wide rather than narrow.
    """
    rows = [*base, *other]
    items = len(rows[0]) if rows else 0
    if len(base) != len(other) or not items or any(len(row) != items for row in rows):
        return None
    if not all(math.isfinite(score) for row in rows for score in row):
        return None
    pairs = list(zip(base, other, strict=True))
    by_seed = [fmean(amp) - fmean(fp32) for fp32, amp in pairs]
    by_item = [fmean(amp[item] - fp32[item] for fp32, amp in pairs) for item in range(items)]
    of_answers = all(map(yes_or_no, rows))
    known = mean_difference(by_item, of_answers)
    if known is None:
        return None
    seeds, value = len(pairs), fmean(by_seed)
    spread = stdev(by_seed) if seeds > 1 else None
    of_seeds = student_t(seeds - 1) * spread / math.sqrt(seeds) if spread is not None else 0.0
    low, high = value - math.hypot(of_seeds, value - known.low), value + math.hypot(of_seeds, known.high - value)
    return Parity(
        interval=Interval(value, max(-1.0, low), min(1.0, high)) if of_answers else Interval(value, low, high),
        seeds=seeds,
        items=items,
        of_items=(known.high - known.low) / 2,
        seed_spread=stdev([fmean(row) for row in base]) if seeds > 1 else None,
        spread_of_differences=spread,
    )
