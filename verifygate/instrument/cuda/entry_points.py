"""Functions of `torch._C` that only a build with CUDA has: what packages import or call without asking for a device.

Those that move data, launch kernels or read hardware are left out: code that calls one of them raises, and the report
names the gap.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .gaps import Gaps

NCCL_VERSION = (2, 27, 5)
CUDA_VERSION = 12080


def install(gaps: Gaps, capability: tuple[int, int]) -> None:
    """Add the entry points that this build of torch lacks."""
    core: Any = torch._C
    for names, answer in _answers(gaps, capability).items():
        for name in names.split():
            if not hasattr(core, name):
                setattr(core, name, answer)


def _answers(gaps: Gaps, capability: tuple[int, int]) -> dict[str, Callable[..., Any]]:
    major, minor, patch = NCCL_VERSION

    def nothing(*_args: Any) -> None: ...

    def no_stream(device: int | None = None) -> int:
        return 0  # what CUDA has as well for its default stream

    return {
        "_cuda_getDevice _cuda_exchangeDevice _cuda_maybeExchangeDevice": lambda *_args: 0,
        "_cuda_getDeviceCount": lambda: 1,
        "_cuda_init _cuda_setDevice _cuda_synchronize _cuda_sleep _cuda_setStream _cuda_ipc_collect": nothing,
        "_cuda_emptyCache _cuda_clearCublasWorkspaces _cuda_set_sync_debug_mode": nothing,
        "_cuda_isInBadFork": lambda: False,
        "_cuda_hasPrimaryContext": lambda device: True,
        "_cuda_getCompiledVersion": lambda: CUDA_VERSION,
        "_cuda_getArchFlags": lambda: "sm_{}{}".format(*capability),
        "_cuda_get_sync_debug_mode": lambda: 0,
        "_cuda_getCurrentStream _cuda_getDefaultStream": lambda device: (0, 0, 1),
        "_cuda_getCurrentRawStream": gaps.wrap("device handles", no_stream),
        "_nccl_version": gaps.wrap("NCCL", lambda: major << 32 | minor << 16 | patch),
        "_nccl_version_suffix": lambda: b"",
    }
