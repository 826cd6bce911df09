"""Which operators take the time of a step, in which dtype, and how much of the matrix work runs in half precision."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ..recorder.low_precision import MATRIX_WORK, flops_of

TOP = 12
"""How many operators are told."""
DTYPES = {
    "float": "float32",
    "double": "float64",
    "c10::Half": "float16",
    "c10::BFloat16": "bfloat16",
    "long int": "int64",
    "int": "int32",
    "bool": "bool",
    "unsigned char": "uint8",
}
"""The profiler's names of dtypes, which are C++'s."""


class MatrixWork(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Adds up the floating-point operations of matrix work by the dtype of its input."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.flops: Counter[str] = Counter()
        self.uncounted: Counter[str] = Counter()
        """Matrix work for which torch has no formula."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        keywords = kwargs or {}
        result = func(*args, **keywords)
        name = func._schema.name.partition("::")[2]
        tensor = next((each for each in args if isinstance(each, torch.Tensor)), None)
        if name in MATRIX_WORK and tensor is not None and tensor.is_floating_point():
            flops = flops_of(func, args, keywords, result)
            if flops is None:
                self.uncounted[name] += 1
            else:
                self.flops[str(tensor.dtype).removeprefix("torch.")] += flops
        return result


def profiled(step: Callable[[], object], steps: int, synchronize: Callable[[], object], device: str) -> dict[str, Any]:
    """Profile `steps` steps: operators by the time they take themselves, and the allocator's peak above the start.

    `peak` is in bytes above what was there when the first step began. `busy` is the part of the time in which the
    device computed, and `matrix` the part of that which is matrix work; both None on a CPU, which is its own host.
    """
    from torch.profiler import ProfilerActivity, profile

    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if device == "cuda" else [])
    with profile(activities=activities, record_shapes=True, profile_memory=device == "cpu") as profiler:
        for _ in range(steps):
            step()
        synchronize()
    events = profiler.profiler.kineto_results.events()  # raw: a tree of it costs seconds
    kernels = [event for event in events if str(event.device_type()).endswith("CUDA") and event.duration_ns() > 0]
    calls = [event for event in events if str(event.device_type()).endswith("CPU") and event.name() != "[memory]"]
    own = _kernel_time(calls, kernels) if kernels else _self_time(calls)
    return {
        "peak": _peak(events) if device == "cpu" else None,
        "operators": _top(own, steps),
        **_device_share(calls, kernels),
    }


def _self_time(calls: list[Any]) -> dict[tuple[str, str], list[int]]:
    """Nanoseconds that each operator takes without those that it calls, and how often it is called."""
    found: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    threads: dict[int, list[tuple[int, tuple[str, str]]]] = defaultdict(list)
    for event in sorted(calls, key=lambda event: (event.start_ns(), -event.duration_ns())):
        stack = threads[event.start_thread_id()]
        while stack and stack[-1][0] <= event.start_ns():
            stack.pop()
        key = _key(event)
        if stack:
            found[stack[-1][1]][0] -= event.duration_ns()
        found[key][0] += event.duration_ns()
        found[key][1] += 1
        stack.append((event.start_ns() + event.duration_ns(), key))
    return found


def _kernel_time(calls: list[Any], kernels: list[Any]) -> dict[tuple[str, str], list[int]]:
    """Nanoseconds that the device computes for each operator."""
    found: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    by_id = {event.correlation_id(): event for event in calls}
    for kernel in kernels:
        caller = by_id.get(kernel.linked_correlation_id())
        entry = found[_key(caller) if caller is not None else (kernel.name(), "")]
        entry[0] += kernel.duration_ns()
        entry[1] += 1
    return found


def _key(event: Any) -> tuple[str, str]:
    names = (DTYPES.get(name, "") for name in event.dtypes())
    return event.name(), next((name for name in names if name), "")


def _top(found: dict[tuple[str, str], list[int]], steps: int) -> list[dict[str, Any]]:
    whole = sum(time for time, _ in found.values()) or 1
    worst = sorted(found.items(), key=lambda item: (-item[1][0], item[0]))[:TOP]
    return [
        {"name": name, "dtype": dtype, "calls": count / steps, "seconds": time / steps / 1e9, "share": time / whole}
        for (name, dtype), (time, count) in worst
        if time > 0
    ]


def _peak(events: list[Any]) -> int:
    """The highest sum of what was allocated and not yet given back."""
    now = peak = 0
    for event in sorted((event for event in events if event.name() == "[memory]"), key=lambda event: event.start_ns()):
        now += event.nbytes()
        peak = max(peak, now)
    return peak


def _device_share(calls: list[Any], kernels: list[Any]) -> dict[str, float | None]:
    if not kernels:
        return {"busy": None, "matrix": None}
    spans = [(event.start_ns(), event.start_ns() + event.duration_ns()) for event in calls]
    wall = max(end for _, end in spans) - min(start for start, _ in spans)
    busy, reached = 0, 0
    for start, length in sorted((kernel.start_ns(), kernel.duration_ns()) for kernel in kernels):
        busy += max(0, start + length - max(start, reached))
        reached = max(reached, start + length)
    by_id = {event.correlation_id(): event.name() for event in calls}
    matrix = sum(
        kernel.duration_ns()
        for kernel in kernels
        if by_id.get(kernel.linked_correlation_id(), "").partition("::")[2] in MATRIX_WORK
    )
    return {"busy": min(1.0, busy / wall), "matrix": matrix / sum(kernel.duration_ns() for kernel in kernels)}
