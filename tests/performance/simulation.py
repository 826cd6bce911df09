"""Measurements of workloads whose true quality is known: what the protocol would record, without any process.

The machine's speed wanders from block to block, steps scatter, some are interrupted, clocks tick coarsely: and the
judgement sees the samples only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from verifygate.config.performance import PerformanceSettings, Targets
from verifygate.model import Status
from verifygate.performance.case import Case
from verifygate.performance.comparison import ArmRecord, Comparison, Host, Plan, Round, Training
from verifygate.performance.judgement import speedup, undecided
from verifygate.performance.measuring import planned

GPU = Host("Linux x86_64", "3.11", "2.13", "cuda", "Some GPU", True)
STEP = 0.1
"""Seconds of an undisturbed fp32 step."""


@dataclass(frozen=True)
class World:
    """A workload and the machine that it is measured on."""

    ratio: float
    """The true one: fp32's step time over AMP's."""
    noise: float = 0.02
    """Standard deviation of a step, as a share."""
    drift: float = 0.05
    """Standard deviation of the machine's speed from one block to the next: it wanders, and does not come back."""
    trend: float = 0.0
    """By how much, as a share, the machine gets slower from block to block: a device that warms up."""
    interrupted: float = 0.0
    """Share of the steps that take three times as long."""
    tick: float = 0.0
    """Seconds between two ticks of the clock."""
    skipped: float = 0.0
    """Share of AMP's steps that its scaler skips."""
    other_seed: bool = False
    """Whether AMP was trained on other data."""


def settings(rounds: int = 6, rounds_max: int = 24, **targets: float) -> PerformanceSettings:
    asked = Targets.model_validate(targets or {"speedup": 1.5})
    return PerformanceSettings(workload="m:f", rounds=rounds, rounds_max=rounds_max, targets=asked)


def measured(world: World, how: PerformanceSettings, draw: np.random.Generator) -> Comparison:
    """What the protocol records of `world`: rounds there and back, with looks until nothing is undecided."""
    plan = planned(how)
    fp32, amp = _rounds(world, plan, draw)
    comparison = _comparison(plan, world, fp32[: plan.rounds], amp[: plan.rounds])
    for look in plan.looks[1:]:
        if not undecided(comparison, how):
            break
        comparison = _comparison(plan, world, fp32[:look], amp[:look])
    return comparison


def verdict(comparison: Comparison, how: PerformanceSettings) -> Status:
    """What the speed-up is judged to be."""
    return speedup(Case(comparison, how, comparison.judged)).check.status


def one_after_the_other(world: World, plan: Plan, draw: np.random.Generator) -> float:
    """The speed-up as it is usually measured: all steps of fp32, then all of AMP, the ratio of the means.

    Machine, noise and number of blocks are the same as in the protocol's first look.
    """
    blocks = 4 * plan.rounds
    speeds = np.exp(_wandering(world, blocks, draw))
    half = plan.steps // 2
    seconds = speeds[:, None] * np.exp(draw.normal(0, world.noise, (blocks, half)))
    return float(seconds[: blocks // 2].mean() / (seconds[blocks // 2 :].mean() / world.ratio))


def _rounds(world: World, plan: Plan, draw: np.random.Generator) -> tuple[list[Round], list[Round]]:
    there, back = plan.steps // 2, plan.steps - plan.steps // 2
    speeds = np.exp(_wandering(world, 4 * plan.rounds_max, draw)).reshape(-1, 4)
    arms: tuple[list[Round], list[Round]] = [], []
    for number, speed in enumerate(speeds):
        outer, inner = (0, 1) if number % 2 == 0 else (1, 0)  # A B B A, then B A A B
        for arm, (first, last) in ((outer, (0, 3)), (inner, (1, 2))):
            machine = np.repeat([speed[first], speed[last]], [there, back])
            seconds = STEP / (world.ratio if arm else 1.0) * machine
            seconds = seconds * np.exp(draw.normal(0, world.noise, plan.steps))
            seconds = np.where(draw.random(plan.steps) < world.interrupted, 3 * seconds, seconds)
            if world.tick:
                read = np.floor(np.concatenate([[0.0], np.cumsum(seconds)]) / world.tick + draw.random()) * world.tick
                seconds = np.diff(read)
            effective = plan.steps - int((draw.random(plan.steps) < world.skipped).sum()) if arm else plan.steps
            digest = f"{number}{'x' if arm and world.other_seed else ''}"
            arms[arm].append(Round(tuple(seconds.tolist()), effective, 500 if arm else 1000, digest=digest))
    return arms


def _wandering(world: World, blocks: int, draw: np.random.Generator) -> np.ndarray:
    """Logarithm of how slow the machine is in each block."""
    return np.cumsum(draw.normal(0, world.drift, blocks)) + world.trend * np.arange(blocks)


def _comparison(plan: Plan, world: World, fp32: list[Round], amp: list[Round]) -> Comparison:
    training = Training(0, plan.train_steps, plan.train_steps, (1.0,) * 20, "d")
    base = ArmRecord("fp32", GPU, 8, trainings=[training], rounds=fp32)
    return Comparison(plan, (base, replace(base, name="bf16", rounds=amp)))


@dataclass(frozen=True)
class Evaluation:
    """A model that is right on some share of the items, trained once from each seed in either precision."""

    cost: float
    """The true one: by how much AMP lowers the share of right answers, over all seeds and items."""
    items: int = 2000
    seeds: int = 3
    right: float = 0.9
    seed_spread: float = 0.002
    """Standard deviation of the true share of right answers from training to training, in either arm."""
    agreement: float = 0.9
    """Share of the items that both arms of a seed answer alike by their very nature, not by chance."""


def trained(world: Evaluation, draw: np.random.Generator) -> tuple[list[list[float]], list[list[float]]]:
    """Yes-or-no scores of both arms, a row for each seed."""
    alike = draw.random(world.items) < world.agreement
    fp32, amp = [], []
    for _ in range(world.seeds):
        common = draw.random(world.items)
        for rows, cost in ((fp32, 0.0), (amp, world.cost)):
            level = world.right - cost + draw.normal(0, world.seed_spread)
            luck = np.where(alike, common, draw.random(world.items))
            rows.append((luck < level).astype(float).tolist())
    return fp32, amp


def share(hits: int, of: int) -> str:
    """A share in percent, with its standard error."""
    rate = hits / of
    return f"{100 * rate:.1f} % +- {100 * math.sqrt(max(rate * (1 - rate), 1 / of) / of):.1f}"
