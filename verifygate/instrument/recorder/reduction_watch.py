"""Watch whether DistributedDataParallel averages the gradients of a step: it does so behind a forward of its own."""

from __future__ import annotations

import weakref
from typing import Any

import torch
from torch.nn.parallel import DistributedDataParallel

from ..patching.wrapping import After
from .gradient_versions import Track
from .recording import Arguments, Keywords, Recording


class ReductionWatch:
    """Knows the wrappers of this process, and which of them ran forward since a step of their parameters."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._has_run: weakref.WeakKeyDictionary[Any, bool] = weakref.WeakKeyDictionary()
        """Wrapper -> whether it ran forward since the last step."""

    def patch(self) -> None:
        """Put the watch around the wrapper's making and its forward."""
        self._recording.around(DistributedDataParallel, "__init__", self._made)
        self._recording.around(DistributedDataParallel, "forward", self._forward)

    def _made(self, arguments: Arguments, _keywords: Keywords) -> After:
        def after(_result: object, raised: BaseException | None) -> None:
            if raised is None:
                self._has_run[arguments[0]] = False

        return after

    def _forward(self, arguments: Arguments, _keywords: Keywords) -> None:
        wrapper = arguments[0]
        if wrapper in self._has_run and torch.is_grad_enabled():  # in `no_sync` it is on purpose
            self._has_run[wrapper] = True

    def stepped(self, track: Track | None) -> bool:
        """Whether parameters of a wrapper take a step, and it has not run forward since the last one."""
        if track is None or not self._has_run:
            return False
        stepped = {id(each) for each in track.parameters if each.grad is not None}
        missing = False
        for wrapper, has_run in list(self._has_run.items()):
            if any(id(each) in stepped for each in torch.nn.Module.parameters(wrapper)):
                missing = missing or not has_run
                self._has_run[wrapper] = False
        return missing
