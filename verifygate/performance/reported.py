"""What is reported without being judged: the protocol, the environment, rates, sizes, and hazards of the comparison."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

from verifygate.model import Measurement, Status
from verifygate.performance.case import Case
from verifygate.performance.comparison import BASE, TF32, ArmRecord, Comparison
from verifygate.performance.intervals import positive, yes_or_no

STATES = {
    "load": ("Load average of the host", "processes"),
    "processes": ("Processes that compute on the device, the arms' own too", "processes"),
    "slowed_down": ("Whether heat or power held the device's clocks down", "yes or no"),
    "temperature_c": ("Temperature of the device", "C"),
    "power_w": ("Power of the device", "W"),
}


def measurements(case: Case) -> Iterator[Measurement]:
    """Rate, memory and size of each arm that ran to its end."""
    for arm in case.comparison.arms:
        if arm.failure is not None or not arm.rounds:
            continue
        trained = sum(each.effective for each in arm.trainings) / sum(each.steps for each in arm.trainings)
        yield _plain(case, arm, "trained-steps", "Training steps that moved the parameters", "share", trained)
        times = [block.effective_step_seconds for block in arm.rounds]
        if positive(times):
            rate = arm.samples_per_step * len(times) / sum(times)
            # A training that is timed from outside does not tell its batch.
            counted = "Samples" if case.comparison.plan.kind == "build" else "Steps"
            yield _plain(case, arm, "throughput", f"{counted} in a second, by steps that took effect", "1/s", rate)
        if arm.peak_bytes:
            yield _plain(case, arm, "peak-memory", "Peak allocated memory", "B", max(arm.peak_bytes))
        if arm.parameter_bytes is not None:
            yield _plain(case, arm, "parameter-bytes", "Size of the parameters", "B", arm.parameter_bytes)
    yield from _by_means(case)
    yield from _machine(case)


def _machine(case: Case) -> Iterator[Measurement]:
    """The greatest figure of each kind that the machine's state had before a block."""
    states = [block.state for arm in case.comparison.arms for block in arm.rounds]
    for name, (title, unit) in STATES.items():
        if found := [state[name] for state in states if name in state]:
            yield Measurement(
                id=f"machine-{name.replace('_', '-')}",
                title=f"{title}: the greatest before a block",
                metric=f"machine-{name.replace('_', '-')}",
                unit=unit,
                device=case.device,
                status=Status.NOT_APPLICABLE,
                value=max(found),
                method=f"{len(found)} readings; each is in the record, with the samples",
            )


def _by_means(case: Case) -> Iterator[Measurement]:
    """The speed-up with the slowest steps counted in full: the judged one is about medians, which leave them out."""
    times = [arm.step_seconds for arm in case.pair]
    if not case.failure and all(map(positive, times)):
        yield Measurement(
            id=f"speedup-by-means.{case.amp.name}",
            title=f"Ratio of fp32's mean step time to that of {case.amp.name}",
            metric="speedup-by-means",
            unit="x",
            device=case.device,
            status=Status.NOT_APPLICABLE,
            value=fmean(times[0]) / fmean(times[1]),
            method="all timed steps; far from the speed-up, which is about medians, where some steps take far longer",
        )


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
    fp32, amp = comparison.base, comparison.judged
    if fp32.scores and fp32.scores == amp.scores and not yes_or_no(fp32.scores):
        yield f"every graded score is the same in both arms to the last bit: does the workload honour `{amp.name}`?"
    if fp32.parameter_bytes and amp.parameter_bytes and amp.parameter_bytes != fp32.parameter_bytes:
        yield f"the parameters of {amp.name} have another size than fp32's: autocast keeps parameters in FP32"


def others_failed(comparison: Comparison) -> Iterator[str]:
    """Arms without a target that did not run to their end."""
    for arm in comparison.arms[2:]:
        if arm.failure:
            yield f"{arm.name} was to be measured as well: {arm.failure}"


def protocol(comparison: Comparison) -> Iterator[tuple[str, str]]:
    """How it was measured: label and value, the same for the same settings and machine."""
    plan, names = comparison.plan, [arm.name for arm in comparison.arms]
    there = " ".join(names)
    back = " ".join(reversed(names))
    each = "a process" if plan.processes == 1 else f"{plan.processes} processes of torchrun"
    yield "arms", f"{', '.join(names)}; {each} each, all others asleep while one is measured"
    yield "order", f"there and back in each round: {there} {back}, then {back} {there}, ..."
    yield "rounds", f"a look after {', '.join(map(str, plan.looks))}; the error rate is shared out among the looks"
    yield "timed steps", f"{plan.steps} an arm and round, each timed by itself"
    yield "warm-up", f"{plan.warmup} steps before each block, thrown away"
    often = f"; {plan.evaluations} evaluations from the first seed" if plan.evaluations > 1 else ""
    yield "training", f"{plan.train_steps} steps an arm and seed, then the evaluation{often}; nothing of it is timed"
    yield "seeds", ", ".join(map(str, plan.seeds))
    if host := comparison.host:
        yield "device", host.device
        yield "clock", "events on the device, checked against perf_counter" if host.accelerator else "perf_counter"
    yield from comparison.base.flags.items()
    for arm in comparison.arms:
        if arm.name in (BASE, TF32) and arm.computed_in:
            yield f"{arm.name} computed in", in_words(arm, comparison)


def in_words(arm: ArmRecord, comparison: Comparison) -> str:
    """In which precision an arm multiplied float32."""
    kinds = ", ".join(f"{kind} {precision}" for kind, precision in arm.computed_in.items())
    return kinds if comparison.accelerated else f"{kinds}; a CPU has no TF32"


def environment(comparison: Comparison) -> dict[str, str]:
    """Where it was measured; empty where no arm came up."""
    host = comparison.host
    if host is None:
        return {}
    told = {"platform": host.platform, "python": host.python, "torch": host.torch, "device": host.device_name}
    return told | dict(host.details)
