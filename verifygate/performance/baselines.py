"""What a speed-up is measured against: IEEE float32 and TF32, each with the largest ratio that the device allows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from verifygate.config.performance import PerformanceSettings, Targets
from verifygate.model import Measurement, Status
from verifygate.performance.case import Case
from verifygate.performance.comparison import HALF, TF32, Comparison
from verifygate.performance.intervals import ratio

OF_MEMORY = 2.0
"""What moves memory rather than multiplies gains this at most: half precision has half the bytes."""


@dataclass(frozen=True)
class Peak:
    """Dense matrix throughput of a device in TFLOP/s, as its maker gives it."""

    device: str
    """Pattern of the device's name."""
    half: float
    tf32: float | None
    """None where there is no TF32."""
    ieee: float
    source: str
    float8: float | None = None
    """None where there is no float8."""


_HOPPER = "NVIDIA H100 datasheet, without sparsity"
PEAKS = (
    Peak("NVIDIA H100 PCIe*", 756.0, 378.0, 51.0, _HOPPER, 1513.0),
    Peak("NVIDIA H100 80GB HBM3*", 989.4, 494.7, 66.9, _HOPPER, 1979.0),
    Peak("NVIDIA H200*", 989.4, 494.7, 66.9, "NVIDIA H200 datasheet, without sparsity", 1979.0),
    Peak("NVIDIA A100*", 312.0, 156.0, 19.5, "NVIDIA A100 datasheet, without sparsity"),
    Peak("NVIDIA A10", 125.0, 62.5, 31.2, "NVIDIA A10 datasheet, without sparsity"),
    Peak("NVIDIA L4", 121.0, 60.0, 30.3, "NVIDIA L4 datasheet, without sparsity", 242.0),
    Peak("NVIDIA L40S", 362.0, 183.0, 91.6, "NVIDIA L40S datasheet, without sparsity", 733.0),
    Peak("Tesla V100-SXM2*", 125.0, None, 15.7, "NVIDIA V100 datasheet"),
    Peak("Tesla T4", 65.0, None, 8.1, "NVIDIA T4 datasheet"),
)


def peak_of(device: str) -> Peak | None:
    return next((peak for peak in PEAKS if fnmatchcase(device, peak.device)), None)


def baselines(comparison: Comparison, settings: PerformanceSettings) -> Iterator[Measurement]:
    """The speed-up over TF32, and what the device allows over each baseline. Figures, no targets."""
    free = settings.model_copy(update={"targets": Targets()})
    case = Case(comparison, free, comparison.judged)
    yield over_tf32(case)
    for name, title in (("", "IEEE float32"), ("-over-tf32", "TF32")):
        yield ceiling(case, name, title)


def over_tf32(case: Case) -> Measurement:
    """TF32's step time over AMP's: what AMP gains where FP32 code already runs in TF32."""
    shape = _figure(case, "speedup-over-tf32", f"Speed-up of {case.amp.name} over TF32")
    shape = shape.model_copy(update={"status": Status.NOT_MEASURED})
    if case.only_cpu:
        return shape.model_copy(update={"status": Status.NOT_APPLICABLE, "reason": "a CPU has no TF32"})
    arm = next((arm for arm in case.comparison.arms if arm.name == TF32), None)
    if arm is None:
        host = case.comparison.host
        none = "the device has no TF32" if host is not None and not host.tf32 else "the arm tf32 was not measured"
        return shape.model_copy(update={"reason": none})
    # The judge of obstacles compares each arm with the base; TF32 differs from it in its own switches alone.
    obstacle = case.obstacle or replace(case, amp=arm).obstacle
    pair = arm, case.amp
    there = min(len(each.rounds) for each in pair)
    looked = max((look for look in case.comparison.plan.looks if look <= there), default=0)
    times = ([block.effective_step_seconds for block in each.rounds[:looked]] for each in pair)
    interval = None if obstacle else ratio(*times, looks=case.looks)
    return case.judged(shape, interval, Status.NOT_APPLICABLE, obstacle or ("" if interval else "no round was timed"))


def ceiling(case: Case, name: str, title: str) -> Measurement:
    """The largest speed-up that the device's matrix units allow over one baseline."""
    shape = _figure(case, f"speedup-ceiling{name}", f"Largest speed-up over {title} that the device allows")
    if case.only_cpu:
        reason = "a CPU has no TF32" if name else "of a CPU it is not known"
        return shape.model_copy(update={"reason": reason})
    peak = peak_of(case.device)
    over = None if peak is None else peak.tf32 if name else peak.ieee
    if peak is None:
        return shape.model_copy(update={"status": Status.NOT_MEASURED, "reason": f"not known of {case.device}"})
    if over is None:
        return shape.model_copy(update={"reason": "the device has no TF32"})
    if peak.tf32 is None and case.amp.name == HALF[0]:
        return shape.model_copy(update={"reason": "the device has no bfloat16 of its own"})
    method = (
        f"{peak.half:g} over {over:g} TFLOP/s of dense matrix products ({peak.source}); a step that moves memory "
        f"rather than multiplies gains {OF_MEMORY:g} at most"
    )
    return shape.model_copy(update={"value": round(peak.half / over, 2), "method": method})


def out_of_reach(comparison: Comparison, target: float | None) -> str:
    """Why no program can meet a target of speed on this device; empty where one may."""
    host = comparison.host
    peak = peak_of(host.device_name) if host is not None and host.accelerator else None
    if peak is None or not target or target <= peak.half / peak.ieee:
        return ""
    most = f"{peak.half / peak.ieee:.1f}"
    return f"the speed-up target of {target:g} is out of reach on {peak.device}: {most} over IEEE float32 at the most"


def _figure(case: Case, metric: str, title: str) -> Measurement:
    return Measurement(
        id=f"{metric}.{case.amp.name}",
        title=title,
        metric=metric,
        unit="x",
        device=case.device,
        status=Status.NOT_APPLICABLE,
    )
