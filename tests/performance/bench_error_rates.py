"""How often the decisions are wrong, by simulation: `python tests/performance/bench_error_rates.py [--runs N]`.

Prints the tables of verifygate/docs/performance.md. Pure arithmetic on simulated samples; a fixed seed.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from simulation import Evaluation, World, measured, one_after_the_other, settings, share, trained, verdict

from verifygate.model import Status
from verifygate.performance.intervals import at_least, ratio, within
from verifygate.performance.measuring import planned
from verifygate.performance.parity import parity

TARGET = 1.5
EDGE = World(TARGET)
WORLDS = {
    "true 1.35": World(1.35),
    "true 1.45": World(1.45),
    "true 1.5: the edge": EDGE,
    "the edge, a quiet machine": World(TARGET, noise=0.005, drift=0.005),
    "the edge, a wild machine": World(TARGET, drift=0.2),
    "the edge, slower by 2 % from block to block": World(TARGET, trend=0.02),
    "the edge, every tenth step interrupted": World(TARGET, interrupted=0.1),
    "the edge, the clock ticks every 5 ms": World(TARGET, tick=0.005),
    "true 1.55": World(1.55),
    "true 1.8": World(1.8),
    "2.0 by skipping two steps of five": World(2.0, skipped=0.4),
    "2.0 on other data": World(2.0, other_seed=True),
}
EVALUATIONS = {
    "no cost, 2000 items right 99.5 times in 100": Evaluation(0.0, right=0.995, seed_spread=0.001),
    "no cost, 2000 items right 90 times in 100": Evaluation(0.0),
    "the same with 8 seeds": Evaluation(0.0, seeds=8),
    "no cost, 50 items": Evaluation(0.0, items=50, right=0.995, seed_spread=0.001),
    "cost 0.01: the edge": Evaluation(0.01),
    "the edge, seeds differ by 0.01": Evaluation(0.01, seed_spread=0.01),
    "the edge, 99 of 100 items right": Evaluation(0.01, right=0.99, seed_spread=0.001),
    "cost 0.03": Evaluation(0.03),
}


def table(head: str, rows: Iterable[Iterable[str]]) -> None:
    names = head.split(" | ")
    print(f"| {head} |\n|{'---|' * len(names)}")
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)
    print()


def counted(answers: Iterable[Status]) -> list[str]:
    counts = Counter(answers)
    return [share(counts[status], counts.total()) for status in (Status.PASS, Status.FAIL, Status.NOT_MEASURED)]


def decisions(runs: int) -> Iterable[list[str]]:
    """Each world, judged by the protocol's own rule: looks after 6, 12 and 24 rounds."""
    how = settings()
    for name, world in WORLDS.items():
        draw = np.random.default_rng(1)
        yield [name, *counted(verdict(measured(world, how, draw), how) for _ in range(runs))]


def orders(runs: int) -> Iterable[list[str]]:
    """A true 1.35 taken for 1.5 or more: one arm after the other against the protocol, on the same machine."""
    how = settings()
    for drift in (0.01, 0.03, 0.05, 0.1):
        world, draw = World(1.35, drift=drift), np.random.default_rng(2)
        one = sum(one_after_the_other(world, planned(how), draw) >= TARGET for _ in range(runs))
        turns = sum(verdict(measured(world, how, draw), how) is Status.PASS for _ in range(runs))
        yield [f"{drift:.0%}", share(one, runs), share(turns, runs)]


def methods(runs: int) -> Iterable[list[str]]:
    """Ways to make an interval of six rounds, at the edge: how often the lower end passes the target wrongly."""
    from scipy.stats import bootstrap

    def resampled(logs: np.ndarray, method: str) -> bool:
        ends = bootstrap((logs,), np.mean, n_resamples=999, method=method, rng=draw).confidence_interval
        return bool(math.exp(ends.low) >= TARGET)

    def student(logs: np.ndarray) -> bool:
        interval = ratio(list(np.exp(logs)), [1.0] * len(logs))
        return interval is not None and at_least(interval, TARGET) is Status.PASS

    def greedy(logs: np.ndarray) -> bool:
        return any(student(logs[:rounds]) for rounds in range(6, 25))

    def shared(logs: np.ndarray) -> bool:
        for look in planned(settings()).looks:
            interval = ratio(list(np.exp(logs[:look])), [1.0] * look, looks=3)
            if interval is not None and at_least(interval, TARGET) is not Status.NOT_MEASURED:
                return at_least(interval, TARGET) is Status.PASS
        return False

    ways: dict[str, Callable[[np.ndarray], bool]] = {
        "percentile bootstrap, 6 rounds": lambda logs: resampled(logs[:6], "percentile"),
        "BCa bootstrap, 6 rounds": lambda logs: resampled(logs[:6], "BCa"),
        "Student's t on logarithms, 6 rounds": lambda logs: student(logs[:6]),
        "the same, looked at after every round from 6 to 24": greedy,
        "the same, looks after 6, 12, 24 that share the error (what is used)": shared,
    }
    for name, way in ways.items():
        draw = np.random.default_rng(3)
        wrong = sum(way(math.log(TARGET) + draw.normal(0, 0.02, 24)) for _ in range(runs))
        yield [name, share(wrong, runs)]


def accuracies(runs: int) -> Iterable[list[str]]:
    """Equivalence within 0.01, over items and seeds."""
    for name, world in EVALUATIONS.items():
        draw, answers, held = np.random.default_rng(4), [], 0
        for _ in range(runs):
            found = parity(*trained(replace(world), draw))
            assert found is not None
            answers.append(within(found.interval, 0.01))
            held += found.interval.low <= -world.cost <= found.interval.high
        yield [f"{name} ({world.seeds} seeds)", *counted(answers), share(held, runs)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000, help="simulated measurements of each row")
    runs = parser.parse_args().runs
    print(f"{runs} simulated measurements a row; shares with their standard errors.\n")
    table("Speed-up, target 1.5 | PASS | FAIL | NOT MEASURED", decisions(runs))
    table("The machine's speed wanders, a block | One arm after the other: >= 1.5 | In turns: PASS", orders(runs))
    table("Interval, true ratio 1.5 | Wrong PASS", methods(runs))
    table("Accuracy, target 0.01 | PASS | FAIL | NOT MEASURED | Truth in the interval", accuracies(max(200, runs // 4)))


if __name__ == "__main__":
    main()
