"""Averages in half precision that never move: an EMA of 0.999 in bfloat16 rounds every update away.

What is written in place without gradients, in half precision, and is no optimizer's parameter may be an average. In a
watched step a sample of it is written in float32 as well, by the same operations. What float32 moves and half leaves
as it was is a lost update.
"""

from __future__ import annotations

from typing import Any

import torch

from ..recorder.recording import Recording
from ..recorder.update_watch import spread
from .breaking import HALF, tensors

ARITHMETIC = frozenset("mul add sub div lerp addcmul addcdiv".split())  # noqa: SIM905
"""Operators that an average is written by. A copy may be a cast of float32 weights, and is none."""
MOST = 64
LOST = 0.9
"""The share of the elements that float32 would move, from which on an average counts as one that does not."""


class Averages:
    """What is written in place in the step that is watched; addresses stay from one step to the next."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._now: dict[int, tuple[Any, Any, Any, int]] = {}
        """Address -> tensor, sample before the first write, sample in float32, place of the last write."""
        self._unmoved: dict[int, Any] = {}
        """Address -> sample of an average that the step before left as it was."""

    def begin(self) -> None:
        self._now = {}

    def before(self, operator: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        """An operation that is about to run, outside of a backward."""
        name = operator._schema.name.partition("::")[2]
        if not name.endswith("_") or torch.is_grad_enabled() or not arguments:
            return
        if name.removeprefix("_foreach_").rstrip("_") not in ARITHMETIC:
            self._forget(arguments[0])
            return
        if self._recording.stepping or "step" in self._recording.inside:
            return
        written = []
        for each in tensors((arguments[0],)):
            key = each.data_ptr() if each.layout is torch.strided and each.dtype in HALF else 0
            if key and key not in self._now and len(self._now) < MOST:
                sample = spread(each).clone()
                self._now[key] = (each, sample, sample.float(), 0)
            written += [each] if key in self._now else []
        if written:
            self._write_in_float32(operator, arguments, keywords, written)

    def _forget(self, written: Any) -> None:
        """Something else is written to what may have been an average."""
        for each in tensors((written,)):
            if each.layout is torch.strided:
                self._now.pop(each.data_ptr(), None)

    def _write_in_float32(
        self, operator: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], written: list[Any]
    ) -> None:
        known = {each.data_ptr(): self._now[each.data_ptr()] for each in written}
        shapes = {each.shape for each in written}

        def mapped(value: Any) -> Any:
            if not isinstance(value, torch.Tensor):
                return value
            if value.layout is torch.strided and value.dtype in HALF and value.data_ptr() in known:
                return known[value.data_ptr()][2]
            return spread(value).float() if value.shape in shapes and value.is_floating_point() else value

        try:
            given, named = torch.utils._pytree.tree_map(mapped, (arguments, keywords))
            operator(*given, **named)
        except Exception:  # an operation that takes more than elements
            self._forget(written)
            return
        place = self._recording.places.here()
        for key, (tensor, before, true, _) in known.items():
            self._now[key] = (tensor, before, true, place)

    def end(self) -> list[dict[str, Any]]:
        """The averages that this step and the one before left as they were, though float32 moves them."""
        weights = {each.data_ptr() for track in self._recording.tracks for each in track.parameters}
        found, unmoved = [], {}
        for key, (tensor, before, true, place) in self._now.items():
            movable = true != before.float()
            lost = movable & (spread(tensor) == before)
            share = float(lost.sum()) / max(int(movable.sum()), 1)
            if key in weights or share < LOST or not bool(torch.isfinite(true).all()):
                continue
            unmoved[key] = before
            if key in self._unmoved and torch.equal(self._unmoved[key], before):
                dtype = str(tensor.dtype).removeprefix("torch.")
                found.append({"at": place, "dtype": dtype, "shape": list(tensor.shape), "lost": share})
        self._unmoved = unmoved
        return found

    @property
    def is_suspicious(self) -> bool:
        """Whether the step after this one has to be watched as well."""
        return bool(self._unmoved)
