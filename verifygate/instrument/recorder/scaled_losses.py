"""Watch for scaled losses that the project reads as numbers: `scaled.item()`, `float(scaled)`, `f"{scaled}"`.

A scaled loss is known by its memory, and by the mark on its autograd node. What the project makes of it by sums, means
and copies is scaled as well; any other operation may be the division that is due, and ends the trail.
"""

from __future__ import annotations

import re
import sys
from collections import deque
from types import FrameType
from typing import Any

import torch

from ..patching.frames import of_torch_or_ours
from ..patching.wrapping import After
from .recording import Arguments, Keywords, Recording

MARK = "verifygate scaled loss"
READS = ("item", "tolist", "numpy", "__float__")
KEPT = 8
"""Scaled losses that are remembered; a loss is a single number."""
NODES = 64
"""Nodes looked at between what is read and a scaled loss."""
STILL_SCALED = re.compile("(Add|Mean|Sum|Stack|Cat|ToCopy|Clone|Alias|View|Unsqueeze|Squeeze|Reshape|Select)Backward")


class ScaledLosses:
    """Begins to watch with the first loss that a live scaler scales."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._kept: deque[tuple[torch.Tensor, int]] = deque(maxlen=KEPT)
        """With the number of writes to each when it was scaled."""
        self._on = False

    def keep(self, result: Any, scaler: Any) -> None:
        """Remember what `scale()` gave, as far as it is single numbers; not where the scale is 1."""
        if self.recording.value(getattr(scaler, "_scale", None)) == 1.0:
            return
        for each in result if isinstance(result, list | tuple) else (result,):
            if isinstance(each, torch.Tensor) and each.numel() == 1 and each.grad_fn is not None:
                self._kept.append((each.detach(), each._version))
                node: Any = each.grad_fn
                node.metadata[MARK] = True
                self._begin()

    def _begin(self) -> None:
        if not self._on:
            self._on = True
            for name in READS:
                self.recording.around_operator(torch.Tensor, name, self._read, beside=True)

    def _read(self, arguments: Arguments, _keywords: Keywords) -> After | None:
        tensor = arguments[0]
        if self.recording.inside or tensor.numel() != 1 or not self._is_read_by_the_project():
            return None
        for scaler, number in self.recording.scalers.items():
            if getattr(scaler, "_scale", None) is tensor:
                self.recording.tell("get_scale", scaler=number)
        if _descends(tensor) or self._is_kept(tensor):
            self.recording.tell("scaled.read")
        return None

    def _is_read_by_the_project(self) -> bool:
        """Whether code of the project itself reads, and no package that it handed the loss to."""
        frame: FrameType | None = sys._getframe(2)
        while frame is not None and of_torch_or_ours(frame.f_code.co_filename):
            frame = frame.f_back
        return frame is not None and self.recording.places.is_own(frame.f_code)

    def _is_kept(self, tensor: torch.Tensor) -> bool:
        """Whether it lies in the memory of a scaled loss that nobody has written to since."""
        if tensor.layout is not torch.strided:
            return False
        address = tensor.data_ptr()
        return any(
            kept.data_ptr() == address != 0 and kept.dtype is tensor.dtype and kept._version == version
            for kept, version in self._kept
        )


def _descends(tensor: torch.Tensor) -> bool:
    """Whether a scaled loss is part of it."""
    pending: list[Any] = [tensor.grad_fn]
    seen = 0
    while pending and seen < NODES:
        node: Any = pending.pop()
        seen += 1
        if node is None:
            continue
        if MARK in node.metadata:
            return True
        if STILL_SCALED.match(node.name()):
            pending += [child for child, _ in node.next_functions]
    return False
