"""What is reported without being judged: the protocol, the environment, rates, sizes, and hazards of the comparison."""

from __future__ import annotations

from collections.abc import Iterator

from verifygate.config import PerformanceSettings
from verifygate.model import Measurement, Status
from verifygate.performance.case import Case
from verifygate.performance.intervals import positive, yes_or_no
from verifygate.performance.record import ArmRecord, Comparison


def measurements(case: Case) -> Iterator[Measurement]:
    """Rate, memory and size of each arm that ran to its end."""
    for arm in case.comparison.arms:
        if arm.failure is not None or len(arm.rounds) != case.settings.rounds:
            continue
        trained = (arm.trained_effective or 0) / case.settings.train_steps
        yield _plain(case, arm, "trained-steps", "Training steps that moved the parameters", "share", trained)
        times = [block.effective_step_seconds for block in arm.rounds]
        if positive(times):
            rate = arm.samples_per_step * len(times) / sum(times)
            yield _plain(case, arm, "throughput", "Samples in a second, by steps that took effect", "1/s", rate)
        if arm.peak_bytes:
            yield _plain(case, arm, "peak-memory", "Peak allocated memory", "B", max(arm.peak_bytes))
        if arm.parameter_bytes is not None:
            yield _plain(case, arm, "parameter-bytes", "Size of the parameters", "B", arm.parameter_bytes)


def _plain(case: Case, arm: ArmRecord, metric: str, title: str, unit: str, value: float) -> Measurement:
    return Measurement(
        id=f"{metric}.{arm.name}",
        title=f"{title}, {arm.name}",
        metric=metric,
        unit=unit,
        device=case.device,
        status=Status.NOT_APPLICABLE,
        value=value,
    )


def hazards(comparison: Comparison) -> Iterator[str]:
    """What makes one doubt that the comparison shows what it should."""
    fp32, amp = comparison.arms
    if fp32.scores and fp32.scores == amp.scores and not yes_or_no(fp32.scores):
        yield f"every graded score is the same in both arms to the last bit: does the workload honour `{amp.name}`?"
    if fp32.parameter_bytes and amp.parameter_bytes and amp.parameter_bytes != fp32.parameter_bytes:
        yield f"the parameters of {amp.name} have another size than fp32's: autocast keeps parameters in FP32"


def protocol(comparison: Comparison, settings: PerformanceSettings) -> Iterator[tuple[str, str]]:
    """How it was measured: label and value, the same for the same settings and machine."""
    fp32, amp = comparison.arms
    yield "arms", f"{fp32.name}, {amp.name}; a process each, the other one asleep while one is measured"
    yield "order", f"alternating: {fp32.name} {amp.name}, {amp.name} {fp32.name}, ..."
    yield "rounds", str(settings.rounds)
    yield "timed steps", f"{settings.steps} an arm and round, each timed by itself"
    yield "warm-up", f"{settings.warmup} steps before each block, thrown away"
    yield "training", f"{settings.train_steps} steps an arm, then the evaluation, before anything is timed"
    yield "seed", str(settings.seed)
    if host := comparison.host:
        yield "device", host.device
        yield (
            "clock",
            "perf_counter; the device synchronised before each reading" if host.accelerator else "perf_counter",
        )
    if fp32.flags:
        yield from fp32.flags.items()


def environment(comparison: Comparison) -> dict[str, str]:
    """Where it was measured; empty where no arm came up."""
    host = comparison.host
    if host is None:
        return {}
    return {"platform": host.platform, "python": host.python, "torch": host.torch, "device": host.device_name}
