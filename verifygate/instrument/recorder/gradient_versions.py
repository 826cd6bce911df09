"""Which optimizer's gradients did something just change? Told from the tensors' identities and version counters.

torch counts the writes to a tensor in place (`_version`), so two looks at `.grad` tell a write, a new tensor and None
apart without reading a value. A write through `.data` is not counted: where nobody has to wait for a device, the sum
of one small gradient is looked at as well.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from typing import Any

import torch

SAMPLE = 32
"""Gradients looked at per optimizer, evenly spread, until a backward is seen that changes none of them."""
SMALL = 4096
"""Elements of the gradient whose values are looked at, at most."""
TRIES = 3
"""How many gradients are looked at for one that is not all zeros."""


class Track:
    """One optimizer, or several over the same parameters, as the protocol sees them: one set of gradients."""

    def __init__(self, index: int, optimizer: Any, readable: frozenset[str]) -> None:
        self.index = index
        self._readable = readable
        self.optimizer = weakref.ref(optimizer)
        self.marks: list[float] = []
        self.unscaled = False
        """Whether the project called `unscale_` in this window."""
        self.read_before: int | None = None
        """How many values the project had read when the first backward of this window began."""
        self.sample: tuple[int, int, float] = (0, 0, 0.0)
        """Identities of the parameter and the gradient whose values were looked at last, and the gradient's norm."""
        self.sample_before = self.sample
        """The same of the look before."""
        self._every = False
        self._ids: tuple[int, frozenset[int]] = (-1, frozenset())

    @property
    def parameters(self) -> list[Any]:
        """All of the optimizer's parameters; none once it is gone."""
        optimizer = self.optimizer()
        if optimizer is None:
            return []
        return [parameter for group in optimizer.param_groups for parameter in group["params"]]

    @property
    def ids(self) -> frozenset[int]:
        """Identities of the parameters."""
        parameters = self.parameters
        if self._ids[0] != len(parameters):
            self._ids = (len(parameters), frozenset(map(id, parameters)))
        return self._ids[1]

    def look(self) -> list[float]:
        """What the gradients are now, as numbers that differ where they differ; 0 stands for None."""
        parameters = self.parameters
        if not self._every and len(parameters) > SAMPLE:
            parameters = parameters[:: len(parameters) // SAMPLE + 1] + parameters[-2:]
        gradients = [each.grad if each.is_leaf else None for each in parameters]
        marks: list[float] = [0 if each is None else id(each) * 1009 + each._version for each in gradients]
        self.sample_before, self.sample = self.sample, (0, 0, 0.0)
        tries = 0
        for parameter, gradient in zip(parameters, gradients, strict=True):
            if gradient is not None and self._may_read(gradient):
                tries += 1
                norm = _norm(gradient)
                self.sample = (id(parameter), id(gradient), norm)
                if norm or tries == TRIES:
                    break
        marks.append(self.sample[2] if self.sample[2] == self.sample[2] else 0.5)  # NaN differs from itself
        return marks

    @property
    def factor(self) -> float | None:
        """What a gradient's norm was multiplied by between the last two looks; None where that is not known."""
        (before, _, old), (now, _, new) = self.sample_before, self.sample
        ratio = new / old if before == now and old else 0.0
        return ratio if 0.0 < ratio < float("inf") else None

    @property
    def is_finite(self) -> bool:
        """Whether the gradient whose values were looked at last has no inf or NaN, as far as is known."""
        return self.sample[2] - self.sample[2] == 0.0

    @property
    def replaced(self) -> bool:
        """Whether another tensor, which is not all zeros, is now where a gradient was at the look before."""
        (before, old, _), (now, new, norm) = self.sample_before, self.sample
        return before == now != 0 and old != new and 0.0 < norm < float("inf")

    def _may_read(self, tensor: Any) -> bool:
        here = tensor.device.type in self._readable
        return here and tensor.layout is torch.strided and tensor.numel() <= SMALL

    @property
    def is_read(self) -> bool:
        """Whether values are looked at as well, so that no write is missed."""
        return any(self._may_read(parameter) for parameter in self.parameters)

    def changed(self) -> bool:
        """Whether the gradients differ from the last look; the present one becomes the last."""
        before, self.marks = self.marks, self.look()
        return before != self.marks

    def close(self) -> None:
        """The window is over: its gradients were used."""
        self.unscaled, self.read_before = False, None

    @property
    def devices(self) -> set[str]:
        """Types of the devices that the parameters lie on."""
        return {device.type for device in {parameter.device for parameter in self.parameters}}

    def look_closer(self) -> None:
        """From now on look at every gradient: a sample may miss the few that a backward reaches."""
        if not self._every:
            self._every = True
            self.marks = self.look()

    @property
    def is_empty(self) -> bool:
        """Whether there was no gradient at the last look."""
        return not any(self.marks)


def _norm(gradient: Any) -> float:
    values = gradient.detach() if gradient.requires_grad else gradient
    if values.is_complex():
        values = torch.view_as_real(values)
    norm = torch.linalg.vector_norm(values, dtype=torch.float64)
    return float(torch._C.TensorBase.item(norm))  # not Tensor.item: it may be watched


class Tracks:
    """All optimizers that live."""

    def __init__(self, readable: frozenset[str]) -> None:
        self._readable = readable
        self._by_optimizer: weakref.WeakKeyDictionary[Any, Track] = weakref.WeakKeyDictionary()
        self._numbers: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._made = self._numbered = 0

    def __iter__(self) -> Iterator[Track]:
        seen = set()
        for track in list(self._by_optimizer.values()):
            if track.index not in seen and track.optimizer() is not None:
                seen.add(track.index)
                yield track

    @property
    def newest(self) -> int:
        """The number of the last one."""
        return self._made

    def of(self, optimizer: Any) -> tuple[Track | None, bool]:
        """The track of an optimizer, and whether it is new; None for what has no parameter groups."""
        try:
            track = self._by_optimizer.get(optimizer)
            groups = optimizer.param_groups
        except (TypeError, AttributeError):
            return None, False
        if track is not None:
            return track, False
        ids = frozenset(id(parameter) for group in groups for parameter in group["params"])
        for other in self:
            if ids and other.ids == ids:  # a wrapper, or what it wraps: one set of gradients
                self._by_optimizer[optimizer] = other
                return other, False
        self._made += 1
        track = self._by_optimizer[optimizer] = Track(self._made, optimizer, self._readable)
        track.marks = track.look()
        return track, True

    def number(self, optimizer: Any) -> int | None:
        """The number of the object itself: a scaler keeps a state of each, over whatever parameters."""
        try:
            if optimizer not in self._numbers:
                self._numbered += 1
                self._numbers[optimizer] = self._numbered
            return self._numbers[optimizer]
        except TypeError:
            return None

    def overlapping(self, track: Track) -> list[Track]:
        """Other tracks over some of the same parameters."""
        return [other for other in self if other is not track and not other.ids.isdisjoint(track.ids)]

    def with_parameters(self, parameters: Iterable[Any]) -> list[Track]:
        """The tracks that any of these parameters belong to."""
        given = set(map(id, parameters))
        return [track for track in self if not given.isdisjoint(track.ids)]

    def with_gradients(self, gradients: Iterable[Any]) -> list[Track]:
        """The tracks that any of these gradients belong to."""
        given = set(map(id, gradients))
        return [track for track in self if any(id(parameter.grad) in given for parameter in track.parameters)]
