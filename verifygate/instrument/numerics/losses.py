"""Look at what every backward begins with: is it finite?"""

from __future__ import annotations

from typing import Any

import torch

from ..recorder.backward_roots import MARK
from ..recorder.graph_capture import is_capturing
from ..recorder.recording import Recording
from .breaking import is_finite, tensors

_NEVER = float("inf")


class Losses:
    """Reads a loss where that waits for nobody. On a device a flag is kept there, and read at the end of the run."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._looked = self._bad = self._first = 0
        self._ends_bad = False
        self._flags: dict[Any, tuple[Any, Any]] = {}
        """Device -> the first iteration whose loss was not finite, and whether the last one's was not."""

    def look(self, roots: Any, iteration: int) -> bool:
        """Whether a loss is known to be inf or NaN."""
        bad = False
        self._looked += 1
        for loss in (roots,) if isinstance(roots, torch.Tensor) else tensors((roots,)):
            if self._recording.is_readable(loss):
                bad |= not _is_finite(loss.detach())
            elif not is_scaled(loss):  # of a scaled one the scaler tells
                self._look_on_device(loss.detach(), iteration)
        self._ends_bad = False
        return bad

    def count(self) -> None:
        """The loss that was looked at last is one of the bad ones."""
        self._bad += 1
        self._ends_bad = True

    def stepped(self, iteration: int) -> None:
        """The iteration of a bad one is known."""
        self._first = self._first or iteration

    def _look_on_device(self, loss: Any, iteration: int) -> None:
        if loss.device.type != "cuda" or is_capturing() or type(loss) is not torch.Tensor:
            return
        bad = ~torch.isfinite(loss).all()
        at = torch.where(bad, float(iteration), _NEVER)
        known = self._flags.get(loss.device)
        self._flags[loss.device] = (torch.minimum(known[0], at) if known else at, bad)

    def told(self) -> dict[str, Any]:
        """`losses` that were looked at, those that were `bad_losses`, the first one, and whether the run ends so."""
        first, ends = self._first, self._ends_bad
        for at, bad in self._flags.values():
            known = float(at.item())
            first = first or (int(known) if known != _NEVER else 0)
            ends |= bool(bad.item())
        return {"losses": self._looked, "bad_losses": self._bad, "first_bad_loss": first, "ends_bad": ends}


def is_scaled(loss: Any) -> bool:
    """Whether it is what a scaler made of a loss."""
    return loss.grad_fn is not None and MARK in loss.grad_fn.metadata


def _is_finite(loss: Any) -> bool:
    if loss.numel() == 1 and type(loss) is torch.Tensor:
        value = torch._C.TensorBase.item(loss)  # not Tensor.item: it may be watched
        return bool(value - value == 0)
    return is_finite(loss)
