"""Count the updates that rounding takes away from weights in half precision, and notice weights that become inf or NaN.

A weight of 0.1 in bfloat16 has neighbours 0.0005 apart: a step below half of that leaves it as it is. Around a few
steps a sample of the weights is compared with what it was. What float32 would have moved is told by the step itself:
torch's own optimizer, over a float32 copy of the sampled weights, gradients and state. Only optimizers of torch that
treat every element alike are copied; of another one it is not known how it rounds.

Everything is reduced on the device, and read when the section ends. Weights in float32 are not looked at.
"""

from __future__ import annotations

import inspect
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch.optim import optimizer as torch_optimizer

from .graph_capture import is_capturing
from .low_precision import LOW, other_modes
from .recording import Recording

FIRST = 4
"""Steps that are sampled at the beginning; after them those whose number is a power of two."""
FIRST_FINITE = 64
"""The same of the steps at which the weights are looked at for inf and NaN."""
TENSORS, ELEMENTS = 32, 16_384
"""Tensors of a group that are sampled, and elements of each, evenly spread."""
SUMMED = 256
"""Tensors that are looked at for inf and NaN."""
ELEMENTWISE = frozenset("Adadelta Adagrad Adam Adamax AdamW ASGD NAdam RAdam RMSprop Rprop SGD".split())  # noqa: SIM905
_OWN = str(Path(torch_optimizer.__file__).parent)


@dataclass
class Sampled:
    """A sample of one tensor, as it was before the step."""

    parameter: Any
    before: Any
    reached: Any
    """Where the gradient is not zero."""
    moved: Any = None
    """Where float32 would move it; None: not known."""


@dataclass
class Group:
    """The low-precision weights of one parameter group: what was counted."""

    facts: dict[str, object]
    counts: list[Any] = field(default_factory=list)
    """Of each sampled step and device: elements reached, of those unchanged, would move in float32, and lost."""
    steps: int = 0
    known: bool = True
    """Whether it is known, of every sample, what float32 would have moved."""


@dataclass
class Watched:
    """The low-precision weights of one optimizer, in one section."""

    steps: int = 0
    groups: dict[tuple[int, str], Group] = field(default_factory=dict)
    finite: list[tuple[int, int, Any]] = field(default_factory=list)
    """Step, place, and on the device: weights before the step, gradients, weights after it (inf or NaN if any is)."""


@dataclass
class Pending:
    """What a step that runs has to be compared with."""

    depth: int = 1
    nested: bool = False
    samples: dict[tuple[int, str], list[Sampled]] = field(default_factory=dict)
    sums: Any = None


class UpdateWatch:
    """Stands around the steps of optimizers; a step within a step belongs to the outer one."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._watched: dict[int, Watched] = {}
        """By the number of the track."""
        self._pending: dict[int, Pending] = {}

    def before(self, optimizer: Any, *, nested: bool) -> None:
        """A step begins, or the closure that it called has ended. `nested`: another optimizer's step called it."""
        if not nested:
            self._pending.clear()  # a step that raised never came to its end
        elif (running := self._pending.get(id(optimizer))) is not None:
            running.depth += 1
            return
        self._look(optimizer, nested)

    def closure_ended(self, optimizer: Any) -> None:
        """The gradients that the step uses are there only now."""
        if (running := self._pending.pop(id(optimizer), None)) is not None:
            self._look(optimizer, running.nested)

    def after(self, optimizer: Any) -> None:
        """The step is over: compare."""
        pending = self._pending.get(id(optimizer))
        if pending is None:
            return
        pending.depth -= 1
        track = self.recording.track(optimizer)
        if pending.depth or track is None:
            return
        del self._pending[id(optimizer)]
        watched = self._watched[track.index]
        place = self.recording.places.here()
        with self.unseen():
            for key, samples in pending.samples.items():
                group = watched.groups.setdefault(key, Group(_facts(optimizer, *key)))
                group.facts |= {"at": place, "step": self.recording.steps}
                group.steps += 1
                group.known &= all(each.moved is not None for each in samples)
                group.counts += _counted(samples)
            if pending.sums is not None:
                sums = torch.stack((*pending.sums, _sum(_low(optimizer), gradients=False)))
                watched.finite.append((self.recording.steps, place, sums))

    def flush(self) -> None:
        """Tell of the section that ends."""
        watched, self._watched = self._watched, {}
        self._pending.clear()
        for index, one in watched.items():
            for group in one.groups.values():
                self._tell_group(index, group)
            self._tell_finite(index, one)

    def _tell_group(self, index: int, group: Group) -> None:
        rows = [torch._C.TensorBase.tolist(each) for each in group.counts]
        reached, unchanged, movable, lost = (sum(column) for column in zip(*rows, strict=True)) if rows else (0,) * 4
        known: dict[str, object] = {}
        if group.known:
            grave = sum(2 * row[3] > row[2] for row in rows)
            known = {"movable": movable, "lost": lost, "grave": grave / len(rows) if rows else 0.0}
            known["last"] = rows[-1][3] / rows[-1][2] if rows and rows[-1][2] else None
        fields = {"optimizer": index, "steps": group.steps, "reached": reached, "unchanged": unchanged}
        self.recording.tell("updates", kept=True, **group.facts, **fields, **known)

    def _tell_finite(self, index: int, watched: Watched) -> None:
        """The first step after which the weights were not finite."""
        for step, place, sums in watched.finite:
            before, gradients, after = (value - value == 0.0 for value in torch._C.TensorBase.tolist(sums))
            if not after:
                fields = {"weights": before, "gradients": gradients}
                self.recording.tell("nonfinite", kept=True, at=place, step=step, optimizer=index, **fields)
                return

    def _look(self, optimizer: Any, nested: bool) -> None:
        track = self.recording.track(optimizer)
        if track is None:
            return
        watched = self._watched.setdefault(track.index, Watched())
        watched.steps += 1
        if not _is_turn(watched.steps, FIRST_FINITE) or is_scaled_within(optimizer) or other_modes():
            return
        if not (parameters := _low(optimizer)) or is_capturing():
            return  # while a CUDA graph is captured, the copies would become a part of it, and run at each replay
        pending = self._pending[id(optimizer)] = Pending(nested=nested)
        with self.unseen():
            if _is_turn(watched.steps, FIRST):
                pending.samples = self._samples(optimizer, known=not nested)
            if len({each.device for each in parameters}) == 1:
                pending.sums = _sum(parameters, gradients=False), _sum(parameters, gradients=True)

    def _samples(self, optimizer: Any, *, known: bool) -> dict[tuple[int, str], list[Sampled]]:
        found: dict[tuple[int, str], list[Sampled]] = {}
        for number, group in enumerate(optimizer.param_groups):
            low = [each for each in group["params"] if _is_low(each) and each.grad is not None]
            for parameter in low[:: len(low) // TENSORS + 1]:
                before = spread(parameter).clone()
                sample = Sampled(parameter, before, spread(parameter.grad) != 0)
                found.setdefault((number, _name(parameter.dtype)), []).append(sample)
        if known and (step := _elementwise_step(optimizer)) is not None:
            try:
                _in_float32(optimizer, step, found)
            except Exception:  # an option of the optimizer that a copy on the side does not stand: then it is not known
                for each in (sample for samples in found.values() for sample in samples):
                    each.moved = None
        return found

    @contextmanager
    def unseen(self) -> Iterator[None]:
        """What is computed here is none of the run's own: no other watch counts it."""
        sampler = self.recording.sampler
        counting = sampler is not None and sampler.counting
        if counting:
            sampler.counting = False
        self.recording.inside.append("updates")
        try:
            with torch.no_grad():
                yield
        finally:
            self.recording.leaves("updates")
            if counting:
                sampler.counting = True


def _is_turn(step: int, first: int) -> bool:
    return step <= first or step & (step - 1) == 0


def _is_low(parameter: Any) -> bool:
    """Whether it is a plain tensor in half, or a shard that is; another subclass may keep what it rounds away."""
    tensor = _own_part(parameter)
    plain = type(tensor) in (torch.Tensor, torch.nn.Parameter) and tensor.layout is torch.strided
    return plain and tensor.dtype in LOW and tensor.numel() > 0


def _own_part(tensor: Any) -> Any:
    """Of a `DTensor` what this rank has: to work with the whole would make all ranks wait for each other."""
    sharded = getattr(sys.modules.get("torch.distributed.tensor"), "DTensor", None)
    return tensor._local_tensor if type(tensor) is sharded else tensor


def _low(optimizer: Any) -> list[Any]:
    parameters = [each for group in optimizer.param_groups for each in group["params"] if _is_low(each)]
    return parameters[:: len(parameters) // SUMMED + 1]


def is_scaled_within(optimizer: Any) -> bool:
    """Whether the step itself divides by the loss scale, or leaves itself out."""
    return any(getattr(optimizer, name, None) is not None for name in ("grad_scale", "found_inf"))


def _facts(optimizer: Any, number: int, dtype: str) -> dict[str, object]:
    """What the group is: told once."""
    group = optimizer.param_groups[number]
    of_dtype = [each for each in group["params"] if _is_low(each) and _name(each.dtype) == dtype]
    rate, eps = group.get("lr"), group.get("eps")
    return {
        "group": number,
        "groups": len(optimizer.param_groups),
        "dtype": dtype,
        "tensors": len(of_dtype),
        "rate": float(rate) if isinstance(rate, int | float) else None,
        "eps": float(eps) if isinstance(eps, int | float) else None,
    }


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def spread(tensor: Any) -> Any:
    """A view of some of the elements, evenly spread; the same ones of all tensors of one shape."""
    flat = _own_part(tensor).detach().reshape(-1)
    return flat[:: flat.numel() // ELEMENTS + 1]


def _sum(parameters: list[Any], *, gradients: bool) -> Any:
    """inf or NaN where any element is, as one number on the device."""
    tensors = [_own_part(each.grad if gradients else each) for each in parameters]
    sums = [each.detach().sum(dtype=torch.float32) for each in tensors if each is not None and not each.is_sparse]
    return torch.stack(sums).sum() if sums else torch.zeros((), device=parameters[0].device)


def _counted(samples: list[Sampled]) -> list[Any]:
    """Elements reached, unchanged, movable, lost: of all samples on one device together."""
    by_device: dict[Any, list[Any]] = {}
    for each in samples:
        stayed = each.reached & (spread(each.parameter) == each.before)
        movable = each.reached & each.moved if each.moved is not None else torch.zeros_like(stayed)
        counts = torch.stack([mask.sum() for mask in (each.reached, stayed, movable, movable & stayed)])
        by_device.setdefault(counts.device, []).append(counts)
    return [torch.stack(each).sum(0) for each in by_device.values()]


def _elementwise_step(optimizer: Any) -> Any:
    """The function by which torch steps such an optimizer; None where it is another's, or overridden."""
    kind = next((each for each in type(optimizer).__mro__ if each.__module__.startswith("torch.optim.")), None)
    step = type(optimizer).step
    if kind is None or kind.__name__ not in ELEMENTWISE or not getattr(step, "hooked", False):
        return None
    if getattr(type(optimizer), "_init_group", None) is not getattr(kind, "_init_group", None):
        return None
    return step.__wrapped__ if inspect.unwrap(step).__code__.co_filename.startswith(_OWN) else None


def _in_float32(optimizer: Any, step: Any, samples: dict[tuple[int, str], list[Sampled]]) -> None:
    """Take the step with float32 copies of the samples, and keep which of them it moves."""
    groups: list[dict[str, Any]] = []
    state: dict[Any, dict[str, Any]] = {}
    copies: list[tuple[Sampled, Any, Any]] = []
    for (number, _), sampled in samples.items():
        parameters = []
        for each in sampled:
            copied = each.before.float().requires_grad_()
            copied.grad = spread(each.parameter.grad).float()
            parameters.append(copied)
            copies.append((each, copied, copied.detach().clone()))
            if own := optimizer.state.get(each.parameter):
                state[copied] = {name: _copied(value, each.parameter) for name, value in own.items()}
        options = {name: value for name, value in optimizer.param_groups[number].items() if name != "params"}
        options |= {name: False for name in ("fused", "foreach") if name in options}
        groups.append({**options, "params": parameters})
    side = object.__new__(type(optimizer))
    everything = {"defaults": dict(optimizer.defaults), "state": defaultdict(dict, state), "param_groups": groups}
    side.__setstate__(everything)
    step(side)
    for each, copied, before in copies:
        each.moved = copied.detach() != before


def _copied(value: Any, parameter: Any) -> Any:
    """An entry of the state, for the sample of its parameter."""
    if not isinstance(value, torch.Tensor):
        return value
    if value.shape == parameter.shape and value.dim():
        value = spread(value)
    return value.float().clone() if value.is_floating_point() else value.clone()
