"""A speed-up that is not there, on this machine as it is: `python tests/performance/bench_arm_order.py [--seconds N]`.

Times the same work over and over, so that whatever goes on here is in the trace, and cuts pairs of arms out of it: the
second arm's times are divided by 1.35, which so is the true ratio. How often does each way of measuring say 1.5?
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path
from statistics import fmean, median, quantiles
from time import perf_counter

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from simulation import share

from verifygate.model import Status
from verifygate.performance.intervals import at_least, ratio

TRUE, TARGET = 1.35, 1.5
STEPS, LOOKS = 10, (6, 12, 24)
HALF = STEPS // 2
LONGEST = 2 * STEPS * LOOKS[-1]


def trace(seconds: float) -> list[float]:
    """How long the same work takes, over and over."""
    matrix = np.random.default_rng(0).normal(size=(512, 512)).astype(np.float32)
    times, end = [], perf_counter() + seconds
    while (begin := perf_counter()) < end:
        for _ in range(4):
            matrix @ matrix
        times.append(perf_counter() - begin)
    return times


def one_after_the_other(times: list[float]) -> bool:
    """All steps of one arm, then all of the other, as many as the first look of the protocol has."""
    count = STEPS * LOOKS[0]
    return fmean(times[:count]) / fmean(time / TRUE for time in times[count : 2 * count]) >= TARGET


def in_turns(times: list[float]) -> Status:
    """A B B A, B A A B, and so on, judged at the planned looks."""
    fp32, amp = [], []
    for number in range(LOOKS[-1]):
        block = [times[(4 * number + place) * HALF :][:HALF] for place in range(4)]
        outer, inner = block[0] + block[3], block[1] + block[2]
        base, other = (outer, inner) if number % 2 == 0 else (inner, outer)
        fp32.append(median(base))
        amp.append(median(other) / TRUE)
        if len(fp32) in LOOKS:
            interval = ratio(fp32, amp, looks=len(LOOKS))
            status = at_least(interval, TARGET) if interval else Status.NOT_MEASURED
            if status is not Status.NOT_MEASURED:
                return status
    return Status.NOT_MEASURED


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120.0, help="length of the trace")
    times = trace(parser.parse_args().seconds)
    draw, runs = random.Random(0), 2000  # noqa: S311
    starts = [draw.randrange(len(times) - LONGEST) for _ in range(runs)]
    cuts = [times[start : start + LONGEST] for start in starts]
    low, _, high = quantiles(times, n=4)
    print(f"{len(times)} steps, median {1e3 * median(times):.1f} ms, quartiles {1e3 * low:.1f} and {1e3 * high:.1f} ms")
    print(f"one after the other: {share(sum(map(one_after_the_other, cuts)), runs)} take 1.35 for 1.5")
    turns = [in_turns(cut) for cut in cuts]
    print(f"in turns: {share(turns.count(Status.PASS), runs)} PASS, {share(turns.count(Status.FAIL), runs)} FAIL")


if __name__ == "__main__":
    main()
