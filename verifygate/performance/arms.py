"""The arms at a glance: time, rate, share of the device's peak, speed-ups with their bounds, memory and accuracy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from verifygate.config.performance import PerformanceSettings, Targets
from verifygate.model import Profile, Status
from verifygate.performance.anatomy import bound
from verifygate.performance.baselines import peak_of
from verifygate.performance.case import Case
from verifygate.performance.comparison import BASE, HALF, TF32, ArmRecord, Comparison
from verifygate.performance.intervals import Interval, geometric, positive, ratio

FLOAT8 = "float8"
NAMES = {BASE: "ieee", TF32: "tf32", **{name: name for name in HALF}, FLOAT8: FLOAT8}
"""Arm -> what it is called here: `ieee` is float32 throughout, with TF32 off."""
HEAD = (
    "arm",
    "ms a step (95 %)",
    "samples/s",
    "TFLOP/s",
    "of peak",
    "over ieee (bound)",
    "over tf32 (bound)",
    "peak memory",
    "accuracy",
)
_NONE = "-"


@dataclass(frozen=True)
class Speedup:
    """How many times as fast as another arm, and the largest ratio that the device's matrix units allow."""

    measured: Interval | None
    bound: float | None


@dataclass(frozen=True)
class Row:
    """One arm. What is None was not measured, or is not known of this device."""

    arm: str
    seconds: Interval | None = None
    """A step that took effect."""
    rate: float | None = None
    """Samples a second."""
    tflops: float | None = None
    """10^12 operations of matrix products a second."""
    share: float | None = None
    """Of the device's peak in the arm's own precision."""
    over_ieee: Speedup | None = None
    over_tf32: Speedup | None = None
    peak_bytes: float | None = None
    accuracy: float | None = None
    """Mean score after the training from the first seed, which takes the same samples in every arm."""
    reason: str = ""
    """Why the arm was not measured; empty where it was."""


def rows(comparison: Comparison, profiles: Sequence[Profile] = ()) -> tuple[Row, ...]:
    """A row for each precision, also for those that this device or workload lacks, with the reason."""
    found = {arm.name: arm for arm in comparison.arms}
    return tuple(
        _row(comparison, found[name], flops_of_a_step(profiles))
        if name in found
        else Row(NAMES[name], reason=_lacking(comparison, name))
        for name in NAMES
    )


def flops_of_a_step(profiles: Sequence[Profile]) -> float | None:
    """Operations of a step's matrix products, as torch's formulas count them; the same in every arm. None: unknown."""
    base = next((each for each in profiles if each.arm == BASE), None)
    return sum(base.flops.values()) or None if base is not None and not base.uncounted else None


def text(comparison: Comparison, profiles: Sequence[Profile] = ()) -> str:
    """The table, and below it what limits each arm that was profiled."""
    host, plan = comparison.host, comparison.plan
    flops = flops_of_a_step(profiles)
    head = [plan.workload, f"on {host.device_name}, torch {host.torch}" if host else "no arm came up"]
    head += [f"{flops / 1e12:.3g} TFLOP of matrix products in a step"] if flops else []
    cells = [HEAD, *(tuple(_cells(row)) for row in rows(comparison, profiles))]
    widths = [max(len(row[at]) for row in cells if len(row) == len(HEAD)) for at in range(len(HEAD))]
    lines = [", ".join(head)]
    for row in cells:
        wide = zip(row, widths, strict=False) if len(row) == len(HEAD) else [(row[0], widths[0]), (row[1], 0)]
        lines.append("  ".join(cell.ljust(width) for cell, width in wide).rstrip())
    return "\n".join([*lines, *_limits(comparison, profiles)]) + "\n"


def _row(comparison: Comparison, arm: ArmRecord, flops: float | None) -> Row:
    name = NAMES[arm.name]
    if arm.failure is not None:
        return Row(name, reason=str(arm.failure))
    times = [block.effective_step_seconds for block in arm.rounds]
    if not positive(times):
        return Row(name, reason="no round was timed")
    seconds = geometric(times) or Interval(times[0], times[0], times[0])
    tflops = flops / seconds.value / 1e12 if flops else None
    peak = peak_tflops(comparison, arm.name)
    return Row(
        name,
        seconds,
        arm.samples_per_step / seconds.value if comparison.plan.kind == "build" else None,
        tflops,
        tflops / peak if tflops and peak else None,
        _speedup(comparison, arm, BASE),
        _speedup(comparison, arm, TF32),
        max(arm.peak_bytes, default=None),
        fmean(arm.scores) if arm.scores else None,
    )


def peak_tflops(comparison: Comparison, arm: str) -> float | None:
    """The device's dense matrix throughput in the precision of an arm; None where it is not known, or there is none."""
    peak = peak_of(comparison.host.device_name) if comparison.host else None
    if peak is None or (arm == HALF[0] and peak.tf32 is None):  # before TF32 there was no bfloat16 either
        return None
    return {BASE: peak.ieee, TF32: peak.tf32, FLOAT8: peak.float8}.get(arm, peak.half)


def _speedup(comparison: Comparison, arm: ArmRecord, over: str) -> Speedup | None:
    base = next((each for each in comparison.arms if each.name == over and each is not arm), None)
    if base is None or arm.name == BASE or base.failure:
        return None
    free = PerformanceSettings(targets=Targets())
    comparable = all(not Case(comparison, free, each).obstacle for each in (base, arm) if each.name != BASE)
    both = min(len(base.rounds), len(arm.rounds))
    times = ([block.effective_step_seconds for block in each.rounds[:both]] for each in (base, arm))
    peaks = peak_tflops(comparison, arm.name), peak_tflops(comparison, over)
    most = peaks[0] / peaks[1] if peaks[0] and peaks[1] else None
    return Speedup(ratio(*times) if comparable else None, most)


def _lacking(comparison: Comparison, name: str) -> str:
    host = comparison.host
    if name == FLOAT8:
        return "the workload has no layers in float8; matrix products alone are in the table of products"
    if host is None:
        return "no arm came up"
    if name == TF32 and not host.tf32:
        return "the device has no TF32" if host.accelerator else "a CPU has no TF32"
    if name == HALF[0] and not host.bf16:
        return "the device has no bfloat16"
    return "not among the arms that were asked for"


def _cells(row: Row) -> Iterator[str]:
    yield row.arm
    if row.reason or row.seconds is None:
        yield f"{Status.NOT_MEASURED}: {row.reason}"
        return
    low, value, high = (1000 * each for each in (row.seconds.low, row.seconds.value, row.seconds.high))
    yield f"{value:.4g} ({low:.4g} to {high:.4g})"
    yield _NONE if row.rate is None else f"{row.rate:,.0f}"
    yield _NONE if row.tflops is None else f"{row.tflops:.3g}"
    yield _NONE if row.share is None else f"{row.share:.1%}"
    for each in (row.over_ieee, row.over_tf32):
        yield _shown(each)
    yield _NONE if row.peak_bytes is None else f"{row.peak_bytes / 2**30:.3g} GiB"
    yield _NONE if row.accuracy is None else f"{row.accuracy:.4f}"


def _shown(speedup: Speedup | None) -> str:
    if speedup is None or speedup.measured is None:
        return _NONE
    ends = f"{speedup.measured.low:.2f} to {speedup.measured.high:.2f}"
    most = "unknown" if speedup.bound is None else f"{speedup.bound:.1f}"
    return f"{speedup.measured.value:.2f}, {ends} ({most})"


def _limits(comparison: Comparison, profiles: Sequence[Profile]) -> Iterator[str]:
    """What holds a step up, from the profile; and the source of the peaks."""
    for each in profiles:
        told = each.reason or ("a CPU is its own host" if each.busy is None else "")
        said = (
            f"{Status.NOT_MEASURED}: {told}"
            if told
            else f"{bound(each.busy or 0.0, each.matrix)} (busy {each.busy:.0%})"
        )
        yield f"{NAMES.get(each.arm, each.arm)} is limited by: {said}"
    if flops_of_a_step(profiles) is None:
        yield f"TFLOP/s: {Status.NOT_MEASURED}: no profile counted all matrix products"
    peak = peak_of(comparison.host.device_name) if comparison.host else None
    if peak is not None:
        yield f"peaks: {peak.source}; float32 {peak.ieee:g}, TF32 {peak.tf32 or 0:g}, half {peak.half:g} TFLOP/s"
    elif comparison.host is not None:
        yield f"of peak, and the bounds: {Status.NOT_MEASURED}: not known of {comparison.host.device_name}"
