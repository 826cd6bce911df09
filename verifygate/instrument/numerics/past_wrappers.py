"""A method that goes past a framework's wrapper: the region that the wrapped `forward` opens is not there.

Accelerate and others put a `forward` that enters autocast on the model itself. A call of another method computes
without it, and nothing raises: the weights are float32. The object tells it: the `forward` of the model's own holds a
region that is on, and a module below runs with gradients, outside of every region.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import torch

from ..patching.frames import stack
from ..recorder.recording import Recording

MOST = 4
FRAMES = 12


class PastWrappers:
    """Asked for each module that is called, and by no other module, in a step that is watched."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self.found: list[dict[str, Any]] = []

    def begin(self) -> None:
        self.found = []

    def called(self, module: Any) -> None:
        """A module is called from outside of every other one."""
        if len(self.found) >= MOST or not torch.is_grad_enabled() or _in_a_region() or self._recording.autocast():
            return
        if not any(each.requires_grad for each in torch.nn.Module.parameters(module)):
            return
        for _, frame in zip(range(FRAMES), stack(sys._getframe(1)), strict=False):
            first = frame.f_code.co_varnames[:1] if frame.f_code.co_argcount else ()
            owner, method = frame.f_locals.get(*first) if first else None, frame.f_code.co_name
            if isinstance(owner, torch.nn.Module) and owner is not module and method not in ("forward", "__call__"):
                region = next(_regions(owner.__dict__.get("forward")), None)
                if region is not None and any(each is module for each in torch.nn.Module.modules(owner)):
                    told = {"operator": f"{type(owner).__qualname__}.{method}", "module": type(module).__qualname__}
                    dtype = str(region.fast_dtype).removeprefix("torch.")
                    at = self._recording.places.here()
                    self.found.append({"kind": "past-the-wrapper", "at": at, "dtype": dtype, "figure": 0.0, **told})
                return


def _regions(function: Any, depth: int = 8) -> Iterator[Any]:
    """The autocast regions that are on in what a function, or a function inside of it, is closed over."""
    function = getattr(function, "__func__", function)
    if function is None or depth <= 0:
        return
    for cell in getattr(function, "__closure__", None) or ():
        try:
            held = cell.cell_contents
        except ValueError:  # an empty cell
            continue
        if isinstance(held, torch.amp.autocast_mode.autocast) and held._enabled:
            yield held
        elif callable(held) and not isinstance(held, type | torch.nn.Module):
            yield from _regions(held, depth - 1)
    yield from _regions(getattr(function, "__dict__", {}).get("__wrapped__"), depth - 1)


def _in_a_region() -> bool:
    """Whether a region is open in this thread, also one that switches autocast off."""
    depth = torch.autocast_increment_nesting() - 1
    torch.autocast_decrement_nesting()
    return depth > 0
