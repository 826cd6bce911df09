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
    """Knows the wrappers of this process, and how often each of them has run forward."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._forwards: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._at_step: weakref.WeakKeyDictionary[Any, dict[int, int]] = weakref.WeakKeyDictionary()
        """Wrapper -> for each optimizer that steps it, its forwards by then: several may step behind one forward."""

    def patch(self) -> None:
        """Put the watch around the wrapper's making and its forward."""
        self._recording.around(DistributedDataParallel, "__init__", self._made)
        self._recording.around(DistributedDataParallel, "forward", self._forward)

    def _made(self, arguments: Arguments, _keywords: Keywords) -> After:
        def after(_result: object, raised: BaseException | None) -> None:
            if raised is None:
                self._forwards[arguments[0]], self._at_step[arguments[0]] = 0, {}

        return after

    def _forward(self, arguments: Arguments, _keywords: Keywords) -> None:
        wrapper = arguments[0]
        if wrapper in self._forwards and torch.is_grad_enabled():  # in `no_sync` it is on purpose
            self._forwards[wrapper] += 1

    def stepped(self, track: Track | None) -> bool:
        """Whether parameters of a wrapper take a step, and it has not run forward since this optimizer's last one."""
        if track is None or not self._forwards:
            return False
        stepped = {id(each) for each in track.parameters if each.grad is not None}
        missing = False
        for wrapper, forwards in list(self._forwards.items()):
            if any(id(each) in stepped for each in torch.nn.Module.parameters(wrapper)):
                missing = missing or self._at_step[wrapper].get(track.index, 0) == forwards
                self._at_step[wrapper][track.index] = forwards
        return missing
