"""The protocol: both arms alive side by side, trained, evaluated, then timed in turns while the other one sleeps."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from verifygate.config import PerformanceSettings
from verifygate.performance.process import ArmProcess, started
from verifygate.performance.record import ArmRecord, Comparison, Failure, Host, Round, Trouble
from verifygate.subject import Subject

CLOCK_SLACK_SECONDS = 0.5
"""What the gate's clock may show on top of an arm's own: waking up, and the way to and fro."""


def compare(subject: Subject, settings: PerformanceSettings, progress: Callable[[str], None]) -> Comparison:
    """Run FP32 against AMP on the device that is there. Never raises for what the workload does."""
    fp32, amp = ArmRecord("fp32"), ArmRecord(settings.precision or "bf16")
    progress("performance: starting both arms")
    with started(subject, (fp32, amp), settings.seconds) as arms:
        greeted = [arm.greet() for arm in arms]  # each of them, whatever the first says
        if all(greeted):
            amp.name = settings.precision or best_precision(arms[0].host)
            _follow(arms, settings, progress)
    for record in (fp32, amp):
        if record.failure and record.failure.trouble is Trouble.MEMORY:
            progress(f"performance: {record.name} ran out of memory; trying it alone")
            record.failure = _alone(subject, settings, record.name, record.failure)
    return Comparison(fp32, amp)


def best_precision(host: Host) -> str:
    """The AMP precision that a device does best."""
    return "bf16" if host.bf16 else "fp16"


def order_of(number: int, arms: Sequence[ArmProcess]) -> list[ArmProcess]:
    """The order of round `number`: ABBA, so that a machine that warms up or slows down favours neither arm."""
    return list(arms) if number % 2 == 0 else list(reversed(arms))


def _follow(arms: Sequence[ArmProcess], settings: PerformanceSettings, progress: Callable[[str], None]) -> None:
    """Build, train and evaluate each arm, then time them in turns; stop at the first failure.

    An arm that runs out of memory leaves, and the other goes on alone: how much it needs is worth knowing.
    """
    running = list(arms)
    for phase in (_build, _train):
        for arm in tuple(running):
            progress(f"performance: {arm.record.name}: {phase.__name__.strip('_')}")
            phase(arm, settings)
            if not _goes_on(arm, running):
                return
    for number in range(settings.rounds):
        progress(f"performance: round {number + 1} of {settings.rounds}")
        for arm in order_of(number, running):
            _block(arm, settings)
            if not _goes_on(arm, running):
                return


def _goes_on(arm: ArmProcess, running: list[ArmProcess]) -> bool:
    """Whether there is anything left to learn after what `arm` did last."""
    if arm.record.failure is None:
        return True
    running.remove(arm)
    arm.hang_up()
    return arm.record.failure.trouble is Trouble.MEMORY and bool(running)


def _build(arm: ArmProcess, settings: PerformanceSettings) -> None:
    record = arm.record
    if done := arm.ask("build", workload=settings.workload, precision=record.name, seed=settings.seed):
        record.samples_per_step = done["samples_per_step"]
        record.parameter_bytes = done["parameter_bytes"]
        record.flags = done["flags"]


def _train(arm: ArmProcess, settings: PerformanceSettings) -> None:
    if done := arm.ask("train", steps=settings.train_steps):
        arm.record.trained_effective = done["effective"]
        arm.record.digests.append(done["digest"])
        if done := arm.ask("evaluate"):
            arm.record.scores = tuple(done["scores"])


def _block(arm: ArmProcess, settings: PerformanceSettings) -> None:
    began = time.perf_counter()
    if done := arm.ask("block", warmup=settings.warmup, steps=settings.steps):
        seconds, own, wall = done["seconds"], done["block_seconds"], time.perf_counter() - began
        if len(seconds) != settings.steps or sum(seconds) > own or not own <= wall <= 2 * own + CLOCK_SLACK_SECONDS:
            arm.record.failure = Failure(Trouble.TAMPERED, "its own clock contradicts the gate's", "block")
            return
        arm.record.digests.append(done["digest"])
        arm.record.rounds.append(Round(tuple(seconds), done["effective"], done["peak_bytes"]))


def _alone(subject: Subject, settings: PerformanceSettings, name: str, failure: Failure) -> Failure:
    """Whether an arm that ran out of memory beside the other one does so by itself too."""
    again = ArmRecord(name)
    with started(subject, (again,), settings.seconds) as (arm,):
        for phase in (lambda: arm.greet(), lambda: _build(arm, settings), lambda: _train(arm, settings)):
            if again.failure is None:
                phase()
    if again.failure is None:
        return replace(failure, trouble=Trouble.BESIDE, text="out of memory beside the other arm, though it fits alone")
    return again.failure if again.failure.trouble is Trouble.MEMORY else failure
