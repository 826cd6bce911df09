"""Averages in half precision that never move: an EMA of 0.999 in bfloat16 rounds every update away.

What is written in place without gradients, in half precision, and is no optimizer's parameter may be an average. In a
watched step a sample of it is written in float32 as well, by the same operations. So is what is computed of it and then
copied into it. What float32 moves and half leaves as it was is a lost update.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.weak import WeakIdKeyDictionary

from ..recorder.recording import Recording
from ..recorder.update_watch import spread
from .breaking import HALF, tensors

ARITHMETIC = frozenset("mul add sub div lerp addcmul addcdiv".split())  # noqa: SIM905
"""Operators that an average is written by. A copy of what was not computed of it, as of float32 weights, makes none."""
MOST = 64
NEAR = 0.05
"""What rounding takes from a sample at most, of itself."""
LOST = 0.9
"""The share of the elements that float32 would move, from which on an average counts as one that does not."""


class Averages:
    """What is written in place in the step that is watched; addresses stay from one step to the next."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._now: dict[int, tuple[Any, Any, Any, int]] = {}
        """Address -> tensor, sample before the first write, sample in float32, place of the last write."""
        self._made: Any = WeakIdKeyDictionary()
        """Tensor that was computed -> addresses of what it was computed of, sample in float32."""
        self._unmoved: dict[int, Any] = {}
        """Address -> sample of an average that the last write to it left as it was."""

    def begin(self) -> None:
        self._now = {}
        self._made = WeakIdKeyDictionary()

    def before(self, operator: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        """An operation that is about to run, outside of a backward."""
        name = operator._schema.name.partition("::")[2].removeprefix("_foreach_")
        if not name.endswith("_") or torch.is_grad_enabled() or not arguments:
            return
        if name == "copy_":
            self._copy(*arguments[:2])
            return
        if name.rstrip("_") not in ARITHMETIC:
            self._forget(arguments[0])
            return
        if self._recording.stepping or "step" in self._recording.inside:
            return
        written = []
        for each in tensors((arguments[0],)):
            key = 0 if each in self._made else _address(each)
            if key and key not in self._now and len(self._now) < MOST:
                sample = spread(each).clone()
                self._now[key] = (each, sample, sample.float(), 0)
            written += [each] if each in self._made or key in self._now else []
        if written:
            self._write_in_float32(operator, arguments, keywords, written)

    def after(self, operator: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], result: Any) -> None:
        """An operation that has run, outside of a backward: keep what it computed of tensors in half."""
        name = operator._schema.name.partition("::")[2].removeprefix("_foreach_")
        if torch.is_grad_enabled() or len(self._made) >= MOST or self._recording.stepping:
            return
        if name not in ARITHMETIC and name != "_to_copy":
            return
        given, made = list(tensors((arguments, keywords))), list(tensors((result,)))
        known = {id(each): self._made[each] for each in given if each in self._made}
        sources = {at for each in given for at in (known[id(each)][0] if id(each) in known else (_address(each),))}
        if not made or not any(sources):
            return
        samples = {each: sample for each, (_, sample) in known.items()}
        if name == "_to_copy":
            true = [samples.get(id(given[0]), spread(given[0]).float())]
        else:
            true = self._in_float32(operator, arguments, keywords, samples, {each.shape for each in made})
        for each, sample in zip(made, true, strict=False):
            self._made[each] = (sources, sample)

    def _copy(self, written: Any, copied: Any) -> None:
        """What was computed of a tensor is copied into it, unless something that nobody saw was written to it."""
        for each, source in zip(tensors((written,)), tensors((copied,)), strict=False):
            key, (sources, true) = _address(each), self._made.get(source, ((), None))
            if key in sources and each.shape == source.shape and torch.allclose(true, spread(source).float(), NEAR):
                before = self._now[key][1] if key in self._now else spread(each).clone()
                self._now[key] = (each, before, true, self._recording.places.here())
            else:
                self._forget(each)

    def _forget(self, written: Any) -> None:
        """Something else is written to what may have been an average."""
        for each in tensors((written,)):
            self._now.pop(_address(each), None)
            self._made.pop(each, None)

    def _write_in_float32(
        self, operator: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], written: list[Any]
    ) -> None:
        known = {_address(each): self._now[_address(each)] for each in written if each not in self._made}
        samples = {
            id(each): self._made[each][1] if each in self._made else known[_address(each)][2] for each in written
        }
        if not self._in_float32(operator, arguments, keywords, samples, {each.shape for each in written}):
            self._forget(written)
            return
        place = self._recording.places.here()
        for key, (tensor, before, true, _) in known.items():
            self._now[key] = (tensor, before, true, place)

    @staticmethod
    def _in_float32(
        operator: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], known: dict[int, Any], shapes: set[Any]
    ) -> list[Any]:
        """What the operation gives of samples of its tensors: those that are `known`, else made here. Or nothing."""

        def mapped(value: Any) -> Any:
            if not isinstance(value, torch.Tensor):
                return value
            if id(value) in known:
                return known[id(value)]
            return spread(value).float() if value.shape in shapes and value.is_floating_point() else value

        try:
            given, named = torch.utils._pytree.tree_map(mapped, (arguments, keywords))
            result = operator(*given, **named)
            return list(tensors((given[0] if result is None else result,)))
        except Exception:  # an operation that takes more than elements
            return []

    def end(self) -> list[dict[str, Any]]:
        """The averages that this step and the one that wrote them before left as they were, though float32 moves them.

        Of several optimizers that step in turn, an average is written behind one of them.
        """
        weights = {each.data_ptr() for track in self._recording.tracks for each in track.parameters}
        found: list[dict[str, Any]] = []
        unmoved = {key: sample for key, sample in self._unmoved.items() if key not in self._now}
        for key, (tensor, before, true, place) in self._now.items():
            movable = true != before.float()
            lost = movable & (spread(tensor) == before)
            share = float(lost.sum()) / max(int(movable.sum()), 1)
            if key in weights or share < LOST or not bool(torch.isfinite(true).all()):
                continue
            unmoved[key] = before
            earlier = self._unmoved.get(key)
            if (
                earlier is not None
                and earlier.shape == before.shape
                and float((earlier == before).float().mean()) >= LOST
            ):
                dtype = str(tensor.dtype).removeprefix("torch.")
                found.append({"at": place, "dtype": dtype, "shape": list(tensor.shape), "lost": share})
        self._unmoved = unmoved
        return found

    @property
    def is_suspicious(self) -> bool:
        """Whether the step after this one has to be watched as well."""
        return bool(self._unmoved)


def _address(tensor: Any) -> int:
    """Where a tensor in half lies; 0 for another one."""
    return int(tensor.data_ptr()) if tensor.layout is torch.strided and tensor.dtype in HALF else 0
