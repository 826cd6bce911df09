"""Let code written for CUDA run on a machine without it: devices, autocast, the scaler, `torch.cuda`.

`install()` is called before the project has a name for anything in torch. Nothing here makes a number that could be
taken for a measurement, and whatever is used that is not emulated is told by name. See docs/emulation.md.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import torch

from . import api as cuda_api
from . import policy as cuda_policy
from . import tensors as cuda_tensors
from .gaps import Gaps
from .tensors import is_cuda

DEFAULT_CAPABILITY = (8, 0)
_installed: list[tuple[Gaps, cuda_policy.Policy]] = []
"""Kept for the life of the process: without the policy object its kernels would go."""


def install(options: dict[str, Any], tell: Callable[..., None]) -> None:
    """Emulate one CUDA device. `options["capability"]` is its compute capability, [8, 0] where it is not given.

    Tells `not-emulated` with feature, instead, spoils, path and line. Where there is a real CUDA device, which needs no
    emulation and would be hidden by it, tells `real-device` if `options["if_missing"]`, and else raises RuntimeError.
    """
    if _installed:
        return
    if torch.cuda.is_available():
        if options.get("if_missing"):
            tell("real-device")
            return
        raise RuntimeError("this machine has a CUDA device: run without emulation")
    major, minor = options.get("capability", DEFAULT_CAPABILITY)
    gaps = Gaps(tell)
    cuda_api.install(gaps, (int(major), int(minor)))
    cuda_tensors.install(lambda: gaps("several devices"))
    _autocast(gaps)
    _loading()
    _distributed(gaps)
    _installed.append((gaps, cuda_policy.Policy(gaps)))


def forget() -> None:
    """Tell every gap again from here on: a test begins, and is judged by what it uses itself."""
    for gaps, _ in _installed:
        gaps.forget()


class _CpuAutocast(threading.local):
    """What code set for the CPU's own autocast, which is out of use: its key serves CUDA's."""

    enabled = False
    dtype = torch.bfloat16


def _autocast(gaps: Gaps) -> None:
    """`"cuda"` in the getters and setters of autocast's state means the CPU's key; `torch.autocast` does the rest."""
    state, real = _CpuAutocast(), torch._C
    real.set_autocast_dtype("cpu", torch.float16)

    def kind(device: str) -> str:
        return device.partition(":")[0]

    def set_enabled(*args: Any) -> None:
        device, enabled = args if len(args) == 2 else ("cuda", *args)
        if kind(device) == "cuda":
            real.set_autocast_enabled("cpu", enabled)
        elif kind(device) == "cpu":
            state.enabled = enabled
            if enabled:
                gaps("CPU autocast")
        else:
            real.set_autocast_enabled(device, enabled)

    def is_enabled(device: str = "cuda") -> bool:
        if kind(device) == "cpu":
            return state.enabled
        return real.is_autocast_enabled("cpu" if kind(device) == "cuda" else device)

    def get_dtype(device: str) -> torch.dtype:
        if kind(device) == "cpu":
            return state.dtype
        return real.get_autocast_dtype("cpu" if kind(device) == "cuda" else device)

    def set_dtype(device: str, dtype: torch.dtype) -> None:
        if kind(device) == "cpu":
            state.dtype = dtype
        else:
            real.set_autocast_dtype("cpu" if kind(device) == "cuda" else device, dtype)

    for name, function in {
        "set_autocast_enabled": set_enabled,
        "is_autocast_enabled": is_enabled,
        "get_autocast_dtype": get_dtype,
        "set_autocast_dtype": set_dtype,
        "get_autocast_gpu_dtype": functools.partial(get_dtype, "cuda"),
        "set_autocast_gpu_dtype": functools.partial(set_dtype, "cuda"),
        "is_autocast_cpu_enabled": functools.partial(is_enabled, "cpu"),
        "set_autocast_cpu_enabled": functools.partial(set_enabled, "cpu"),
        "get_autocast_cpu_dtype": functools.partial(get_dtype, "cpu"),
        "set_autocast_cpu_dtype": functools.partial(set_dtype, "cpu"),
    }.items():
        setattr(torch, name, function)


def _loading() -> None:
    """`torch.load(map_location="cuda")`, and files that were written on a machine with CUDA."""
    load = torch.load

    @functools.wraps(load)
    def loaded(f: Any, map_location: Any = None, *args: Any, **kwargs: Any) -> Any:
        def place(storage: Any, location: str) -> Any:
            wanted: Any = map_location
            if callable(wanted):
                moved = wanted(storage, location)
                return storage if moved is None else moved
            if isinstance(wanted, dict):
                wanted = wanted.get(location, location)
            if is_cuda(location if wanted is None else wanted):
                setattr(storage, cuda_tensors.MARK, True)
            return storage

        if map_location is not None and str(map_location) == "meta":
            return load(f, map_location, *args, **kwargs)
        return load(f, place, *args, **kwargs)

    torch.load = torch.serialization.load = loaded


def _distributed(gaps: Gaps) -> None:
    """One process on one device: gloo for NCCL, no copies between devices, no replicas."""
    parallel: Any = torch.nn.parallel
    distributed: Any = parallel.DistributedDataParallel
    built = distributed.__init__

    @functools.wraps(built)
    def on_cpu(self: Any, module: Any, *args: Any, **kwargs: Any) -> None:
        kwargs |= dict(zip(("device_ids", "output_device"), args, strict=False))
        kwargs |= {"device_ids": None, "output_device": None}
        built(self, module, *args[2:], **kwargs)

    distributed.__init__ = on_cpu

    def forward(self: Any, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*_moved(inputs), **_moved(kwargs))

    parallel.DataParallel.forward = forward
    if torch.distributed.is_available():
        begin = torch.distributed.init_process_group

        @functools.wraps(begin)
        def with_gloo(backend: Any = None, *args: Any, **kwargs: Any) -> Any:
            if backend is None or "nccl" in str(backend):
                gaps("NCCL")
                backend = "gloo"
            return begin(backend, *args, **{k: v for k, v in kwargs.items() if k != "device_id"})

        module: Any = torch.distributed
        module.init_process_group = module.distributed_c10d.init_process_group = with_gloo
        module.is_nccl_available = module.distributed_c10d.is_nccl_available = lambda: True


def _moved(value: Any) -> Any:
    """The same structure with its tensors on the device, as a parallel module scatters them."""
    if isinstance(value, torch.Tensor):
        return value.cuda()
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(_moved(one) for one in value)
    if isinstance(value, dict):
        return {name: _moved(one) for name, one in value.items()}
    return value
