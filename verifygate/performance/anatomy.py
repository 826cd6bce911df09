"""What the profiles say as measurements: memory at the peak, what autocast could save at all, growth, and the why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from verifygate.model import Anatomy, Arm, Check, Evidence, EvidenceClass, Growth, Measurement, Profile, Status
from verifygate.performance.case import ON_CUDA
from verifygate.performance.intervals import Interval
from verifygate.performance.spread import mean, slope

NEGLIGIBLE_BYTES = 1024
"""Growth in an epoch below this, and below a ten-thousandth of what is alive, is none."""
KINDS_KEPT = ("parameters", "gradients", "optimizer state")
"""What autocast leaves as it is."""
LAUNCH_BOUND_BELOW, MEMORY_BOUND_BELOW = 0.7, 0.5
"""A device that is idle for more than three tenths of a step waits for the host; one whose busy time is mostly not
matrix work is kept by moving memory, which half precision speeds up twofold at most."""


def measurements(profiles: Sequence[Profile], device: str) -> Iterator[Measurement]:
    """Everything that the profiles give, one arm after the other; what this machine cannot tell with its reason."""
    for profile in profiles:
        if profile.reason:
            yield _unknown(profile, device, "live-memory", "Memory of a step at its peak", "B", profile.reason)
            continue
        yield from _memory(profile, device)
        yield growth(profile, device)
        yield from _time(profile, device)
    yield from saved(profiles, device)
    if bound := attainable(profiles, device):
        yield bound


def saved(profiles: Sequence[Profile], device: str) -> Iterator[Measurement]:
    """The share of fp32's peak that each other arm does without, by the storages that are alive."""
    base = next((profile.anatomy for profile in profiles if profile.arm == "fp32"), None)
    for profile in profiles:
        if profile.arm != "fp32" and base and base.peak and profile.anatomy:
            title, value = "Share of fp32's peak that is not alive at the peak", 1 - profile.anatomy.peak / base.peak
            method = "by the storages alive; on a CPU, autocast lifts fewer operators to FP32 than on CUDA"
            yield _number(profile, device, "live-memory-saved", title, "share", value, method)


def attainable(profiles: Sequence[Profile], device: str) -> Measurement | None:
    """The share of fp32's peak that autocast could save at the very most: half of what is not kept in FP32 anyway."""
    base = next((profile for profile in profiles if profile.arm == "fp32"), None)
    if base is None or base.anatomy is None or not base.anatomy.peak:
        return None
    return Measurement(
        id="memory-attainable",
        title="Share of fp32's peak memory that autocast can save at the most",
        metric="memory-attainable",
        unit="share",
        device=device,
        status=Status.NOT_APPLICABLE,
        value=attainable_share(base.anatomy),
        method="half of the floating-point bytes of activations and other tensors alive at fp32's peak, over all bytes "
        "alive then: parameters, gradients and optimizer state stay FP32, and copies of weights come on top",
    )


def unreachable(profiles: Sequence[Profile], target: float | None) -> bool:
    """Whether autocast cannot meet the memory target on this workload, whatever is done."""
    base = next((profile for profile in profiles if profile.arm == "fp32"), None)
    return bool(target and base and base.anatomy and base.anatomy.peak and attainable_share(base.anatomy) < target)


def attainable_share(anatomy: Anatomy) -> float:
    """An upper bound: no copies of weights, and every activation in half precision."""
    halved = sum(part.wide for part in anatomy.parts if part.kind not in KINDS_KEPT)
    return halved / 2 / anatomy.peak


def growth(profile: Profile, device: str) -> Measurement:
    """Bytes that stay alive from each epoch to the next: the slope of a straight line, with its interval."""
    fitted = slope(profile.growth.bytes[1:]) if profile.growth else None
    shape = Measurement(
        id=f"memory-growth.{profile.arm}",
        title=f"Memory that stays alive from one epoch to the next, {profile.arm}",
        metric="memory-growth",
        unit="B/epoch",
        device=device,
        status=Status.NOT_MEASURED,
        method="least squares through the bytes of all live storages at the end of each epoch (steps, then an "
        "evaluation, then a garbage collection), the first epoch left out; Student's t",
    )
    if fitted is None or profile.growth is None:
        return shape.model_copy(update={"reason": profile.reason or "too few epochs"})
    status, reason = leaks(profile.growth, fitted)
    ends = {"value": fitted.value, "low": fitted.low, "high": fitted.high}
    alive = tuple(float(each) for each in profile.growth.bytes[1:])
    arms = (Arm(name=profile.arm, unit="B", samples=alive, n=len(alive)),)  # a PASS without samples counts for nothing
    return shape.model_copy(update={"status": status, "reason": reason, "arms": arms, **ends})


def leaks(growth: Growth, fitted: Interval) -> tuple[Status, str]:
    """PASS: no leak; FAIL: a leak; NOT MEASURED: cannot tell. With a line that says what was seen."""
    least = max(NEGLIGIBLE_BYTES, growth.bytes[-1] / 10_000)
    count = growth.storages[-1] - growth.storages[1]
    if fitted.low > least:
        return Status.FAIL, f"a leak: {count} more storages are alive after {len(growth.bytes) - 2} more epochs"
    if fitted.high <= least:
        return Status.PASS, ""
    return Status.NOT_MEASURED, "cannot tell: the bytes alive at the ends of the epochs scatter too much"


def growth_check(profiles: Sequence[Profile], device: str) -> Check:
    """Whether training leaks memory, in any arm. Advice: a leak has not broken anything yet."""
    found = {profile.arm: growth(profile, device) for profile in profiles}
    order = (Status.FAIL, Status.NOT_MEASURED, Status.PASS)
    arm, worst = min(found.items(), key=lambda item: order.index(item[1].status))
    remedy = {
        Status.FAIL: "look for losses, outputs or hidden states that are kept with their graphs: keep `.item()` or "
        "`.detach()` of them, and evaluate under `torch.no_grad()`",
        Status.NOT_MEASURED: "let the workload's step() and evaluate() draw batches of one size",
    }.get(worst.status, "")
    evidence = Evidence(
        id="E-performance-memory-growth", kind=EvidenceClass.MEASURED, summary=f"{worst.id} on {device}"
    )
    return Check(
        id="performance.memory-growth",
        title="Memory does not grow from epoch to epoch",
        status=worst.status,
        required=False,
        expected="as many bytes alive at the end of each epoch, in every arm",
        actual=f"{arm}: {worst.reason}" if worst.reason else "",
        measurement=worst.id,
        evidence=(evidence,) if worst.status in (Status.PASS, Status.FAIL) else (),
        remedy=remedy,
    )


def _memory(profile: Profile, device: str) -> Iterator[Measurement]:
    if profile.anatomy:
        method = (
            "every storage on the device that the training holds at the moment when they sum to most, counted once; "
            f"followed through steps of a fresh process; the moment lies in {profile.anatomy.phase}"
        )
        yield _number(profile, device, "live-memory", "Memory of a step at its peak", "B", profile.anatomy.peak, method)
    if profile.allocated is not None:
        method = "what the allocator had given out at most, without what was there before the workload was built"
        method += "; from torch.profiler's memory events" if profile.device == "cpu" else ""
        yield _number(profile, device, "allocated-memory", "Peak of the allocator", "B", profile.allocated, method)
    title = "Peak of what the allocator holds"
    if profile.reserved is not None:
        yield _number(profile, device, "reserved-memory", title, "B", profile.reserved, "max_memory_reserved")
    else:
        reason = f"the CPU's allocator holds nothing in reserve that torch counts: {ON_CUDA}"
        yield _unknown(profile, device, "reserved-memory", title, "B", reason)


def _time(profile: Profile, device: str) -> Iterator[Measurement]:
    shares = [step.data / step.seconds for step in profile.steps if step.data is not None and step.seconds > 0]
    title = "Part of a step that passes before its forwards: drawing, assembling and moving batches"
    if found := mean(shares):
        method = "time since the step, a backward or an optimizer's step was done, until a module's forward begins"
        shape = _number(profile, device, "data-wait", title, "share", found.value, method)
        yield shape.model_copy(update={"low": max(0.0, found.low), "high": min(1.0, found.high)})
    else:
        yield _unknown(profile, device, "data-wait", title, "share", "no torch.nn.Module's forward was called")
    waits = sum(wait.count for wait in profile.waits)
    method = "calls that read a tensor on the host" + (
        ", counted on the CPU: they wait where the tensor lies on an accelerator" if profile.device == "cpu" else ""
    )
    title = "Calls in a step that make the host wait for the device"
    yield _number(profile, device, "host-waits", title, "", waits, method)
    title = "Part of the matrix work that runs in half precision"
    if profile.low_share is not None:
        method = "floating-point operations by torch's own formulas, forward and backward"
        yield _number(profile, device, "low-precision", title, "share", profile.low_share, method)
    else:
        yield _unknown(profile, device, "low-precision", title, "share", "no matrix work was seen")
    title = "Part of a step in which the device computes"
    if profile.busy is None:
        yield _unknown(profile, device, "device-busy", title, "share", f"a CPU is its own host: {ON_CUDA}")
    else:
        method = f"kernel time by torch.profiler over the time of the step; {bound(profile.busy, profile.matrix)}"
        yield _number(profile, device, "device-busy", title, "share", profile.busy, method)


def bound(busy: float, matrix: float | None) -> str:
    """What holds the steps up, in words."""
    if busy < LAUNCH_BOUND_BELOW:
        return "launch-bound: the device waits for the host for the rest of it"
    if matrix is not None and matrix < MEMORY_BOUND_BELOW:
        return f"memory-bound: {matrix:.0%} of that is matrix work"
    return "compute-bound: the device is busy, mostly with matrix work"


def _number(
    profile: Profile, device: str, metric: str, title: str, unit: str, value: float, method: str = ""
) -> Measurement:
    return Measurement(
        id=f"{metric}.{profile.arm}",
        title=f"{title}, {profile.arm}",
        metric=metric,
        unit=unit,
        device=device,
        status=Status.NOT_APPLICABLE,
        value=value,
        method=method,
    )


def _unknown(profile: Profile, device: str, metric: str, title: str, unit: str, reason: str) -> Measurement:
    shape = _number(profile, device, metric, title, unit, 0.0)
    return shape.model_copy(update={"status": Status.NOT_MEASURED, "value": None, "reason": reason})
