"""Where the host waits for the device: each call that reads a tensor's values on the host, with the project's line.

On a CPU nothing waits, so there the calls are counted that would wait if the tensor lay on an accelerator. Two kinds
of tensors never do: the step counters of torch's optimizers, and what is made on the CPU where the device is another.
"""

from __future__ import annotations

import linecache
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from time import perf_counter as clock
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from ..patching.frames import Place, caller
from .storages import alive

READS = frozenset(
    "item tolist cpu nonzero masked_select unique equal is_nonzero allclose "  # noqa: SIM905
    "__bool__ __float__ __int__ __index__ __complex__ __repr__ __format__ __contains__".split()
)
"""Functions of torch and methods of a tensor whose result the host needs before it can go on."""


class HostWaits(TorchFunctionMode):
    """Counts the calls, and the seconds they take."""

    def __init__(self, device: str) -> None:
        super().__init__()
        self.device = device
        self.count: Counter[tuple[Place, str]] = Counter()
        self.seconds: dict[tuple[Place, str], float] = defaultdict(float)
        self._counters: set[int] = set()

    def __enter__(self) -> HostWaits:
        for optimizer in alive(torch.optim.Optimizer):
            for state in optimizer.state.values():
                if isinstance(state, dict) and isinstance(state.get("step"), torch.Tensor):
                    self._counters.add(id(state["step"]))
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        keywords = kwargs or {}
        what = self._reads(func, args, keywords)
        if not what:
            return func(*args, **keywords)
        key = (caller(), what)
        began = clock()
        try:
            return func(*args, **keywords)
        finally:
            self.count[key] += 1
            self.seconds[key] += clock() - began

    def _reads(self, func: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> str:
        """What the call is named, if the host has to wait for it; else the empty string."""
        name = str(getattr(func, "__name__", ""))
        if not args or not isinstance(args[0], torch.Tensor):
            return ""
        tensor = args[0]
        if tensor.device.type != self.device or id(tensor) in self._counters or tensor.device.type == "meta":
            return ""
        if name in READS:
            return name.strip("_") + "()"
        if name == "to" and _to_host(args[1:], keywords) and _literally():
            return "to(cpu)"
        if name == "__getitem__" and _has_mask(args[1] if len(args) > 1 else None):
            return "indexing by a mask"
        return ""


def _to_host(rest: tuple[Any, ...], keywords: dict[str, Any]) -> bool:
    named = (value for value in (*rest, keywords.get("device")) if isinstance(value, (str, torch.device)))
    return not keywords.get("non_blocking") and any(torch.device(value).type == "cpu" for value in named)


def _has_mask(index: Any) -> bool:
    indices = index if isinstance(index, tuple) else (index,)
    return any(isinstance(each, torch.Tensor) and each.dtype is torch.bool for each in indices)


def _literally() -> bool:
    """Whether the project's own line says "cpu": on a CPU, `x.to(device)` moves to the CPU as well."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    text = linecache.getline(frame.f_code.co_filename, frame.f_lineno) if frame is not None else ""
    return '"cpu"' in text or "'cpu'" in text
