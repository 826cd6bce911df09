"""Watch autocast regions, checkpoints that are saved, and data loaders that are read."""

from __future__ import annotations

import functools
import inspect
import sys
import threading

import torch

from ..patching.frames import of_the_library, of_torch_or_ours, stack
from ..patching.wrapping import After
from .recording import Arguments, Keywords, Recording, argument, error_name

_STATES = {
    "optimizer": frozenset({"state", "param_groups"}),
    "scaler": frozenset({"scale", "growth_factor", "backoff_factor", "growth_interval"}),
}
"""The keys by which a saved state is known."""


class RegionWatch:
    """Tells of the outermost enabled region of each thread; those inside it are counted."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._regions = threading.local()

    def patch(self) -> None:
        """Put the watch around the class that all spellings of autocast share, and around the rest."""
        around = self.recording.around
        around(torch.amp.autocast_mode.autocast, "__enter__", self._enter)
        around(torch.amp.autocast_mode.autocast, "__exit__", self._exit)
        for module in (torch, torch.serialization):
            around(module, "save", self._save)
        around(torch.utils.data.DataLoader, "__iter__", self._iterate)

    def _enter(self, arguments: Arguments, _keywords: Keywords) -> After | None:
        region = arguments[0]

        def after(_result: object, raised: BaseException | None) -> None:
            if raised is not None:
                return
            self.recording.devices.add(region.device)
            stack = self._stack
            outermost = bool(region._enabled) and not any(stack)
            stack.append(outermost)
            dtype = str(region.fast_dtype).removeprefix("torch.")
            if outermost:
                self.recording.tell(
                    "autocast",
                    device=region.device,
                    dtype=dtype,
                    cache=bool(region._cache_enabled),
                    by_framework=self._is_by_framework() or None,
                    native=False if dtype == "bfloat16" and region.device == "cuda" and _is_emulated() else None,
                )
            else:
                state = dtype if region._enabled else "disabled"
                self.recording.nested[f"{region.device} {state}"] += 1

        return after

    def _is_by_framework(self) -> bool:
        """Whether an installed package entered the region that is being entered, and no code of the project."""
        for frame in stack(sys._getframe(1)):
            code = frame.f_code
            if code.co_name == "decorate_autocast":  # the region of a decorated function is its author's
                code = getattr(inspect.unwrap(frame.f_locals["func"]), "__code__", code)
                if not of_torch_or_ours(code.co_filename):
                    return not self.recording.places.is_own(code)
            elif not of_torch_or_ours(code.co_filename) and not of_the_library(code.co_filename):
                return not self.recording.places.is_own(code)
        return False

    def _exit(self, arguments: Arguments, _keywords: Keywords) -> After | None:
        if len(arguments) > 2 and isinstance(arguments[2], BaseException):
            self.recording.note_region_of(arguments[2])
        stack = self._stack
        if stack and stack.pop():
            self.recording.tell("autocast.exit")
        return None

    @property
    def _stack(self) -> list[bool]:
        """For each region that is open in this thread, whether it is the outermost enabled one."""
        stack: list[bool] | None = getattr(self._regions, "stack", None)
        if stack is None:
            stack = self._regions.stack = []
        return stack

    def _save(self, arguments: Arguments, keywords: Keywords) -> After | None:
        if not self.recording.enters("save"):
            return None
        saved = argument(arguments, keywords, "obj", 0)

        def after(_result: object, raised: BaseException | None) -> None:
            self.recording.leaves("save")
            holds = [kind for kind, keys in _STATES.items() if _holds(saved, keys, 3)]
            self.recording.tell("save", holds=holds, raised=error_name(raised))

        return after

    def _iterate(self, arguments: Arguments, _keywords: Keywords) -> After | None:
        loader = arguments[0]
        self.recording.tell("loader", workers=loader.num_workers, pinned=bool(loader.pin_memory))
        return None


@functools.cache
def _is_emulated() -> bool:
    """Whether the CUDA device has no units for bfloat16; torch then computes it by other means."""
    try:
        return not torch.cuda.is_bf16_supported(including_emulation=False)
    except TypeError:  # before torch 2.4, where it says no more than this
        return not torch.cuda.is_bf16_supported()


def _holds(value: object, keys: frozenset[str], depth: int) -> bool:
    """Whether a dict with these keys is in the value, not too deep."""
    if isinstance(value, dict):
        if keys <= value.keys():
            return True
        return depth > 0 and any(_holds(each, keys, depth - 1) for each in list(value.values())[:100])
    if isinstance(value, list | tuple):
        return depth > 0 and any(_holds(each, keys, depth - 1) for each in value[:20])
    return False
