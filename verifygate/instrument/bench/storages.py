"""What the memory of a step is made of: every storage that is alive, who owns it, and the moment when they sum to most.

Storages are counted, not tensors: views share one. A storage is followed by a weak reference, which stays valid while
only C++ holds it (an autograd graph that somebody keeps does); so what a leak holds is seen too, and nothing is kept
alive by looking. Memory that an operator takes and returns inside itself is not seen here; the allocator's own peak
shows how much that is.
"""

from __future__ import annotations

import gc
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

KINDS = ("parameters", "gradients", "optimizer state", "weight casts", "activations", "other")
"""What a storage is; where it is two things, the first of them counts."""


class Held:
    """One storage that is alive."""

    __slots__ = ("bytes", "kind", "reference", "wide")

    def __init__(self, count: int, wide: bool, kind: int) -> None:
        self.bytes, self.wide, self.kind = count, wide, kind
        self.reference: object = None


class StorageWatch(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Follows the storages on `device` that are made while it is on, and those of the training's standing state."""

    def __init__(self, device: str) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.device = device
        self.alive: dict[int, Held] = {}
        self.bytes = 0
        self.peak, self.at, self.phase = 0, "", "between two steps"
        self._at_peak: list[Held] = []
        self._rising = False
        self._stepping = 0

    # --- what happens

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        keywords = kwargs or {}
        outside = {key for tensor in _tensors((args, keywords)) if (key := _key(tensor)) not in self.alive}
        result = func(*args, **keywords)
        name = func._schema.name.partition("::")[2]
        kind = "weight casts" if name == "_to_copy" and self._is(args[0], "parameters") else "other"
        for tensor in _tensors(result):
            if _key(tensor) not in outside:  # a view of what was there before, such as a data set, is no step's memory
                self.follow(tensor, kind)
        if self.bytes > self.peak:
            self.peak, self.at, self.phase, self._rising = self.bytes, name, self._now(), True
        return result

    def follow(self, tensor: torch.Tensor, kind: str) -> None:
        """Count the storage of `tensor`, once; and know it for `kind`, unless it is more than that."""
        storage = _storage(tensor)
        if storage is None or tensor.device.type != self.device:
            return
        key, rank = storage._cdata, KINDS.index(kind)
        held = self.alive.get(key)
        if held is not None:
            held.kind = min(held.kind, rank)
            return
        wide = tensor.is_floating_point() and tensor.element_size() > 2
        self.alive[key] = held = Held(storage.nbytes(), wide, rank)
        held.reference = weakref.ref(storage, partial(self._freed, key))
        self.bytes += held.bytes

    def _freed(self, key: int, _reference: object) -> None:
        if self._rising:  # the last moment at which everything that made the peak is still there
            self._at_peak, self._rising = list(self.alive.values()), False
        held = self.alive.pop(key, None)
        if held is not None:
            self.bytes -= held.bytes

    def _is(self, tensor: Any, kind: str) -> bool:
        held = self.alive.get(_key(tensor)) if isinstance(tensor, torch.Tensor) else None
        return held is not None and KINDS[held.kind] == kind

    def _now(self) -> str:
        if self._stepping:
            return "the optimizer's step"
        if torch._C._current_graph_task_id() != -1:
            return "the backward"
        return "the forward"

    # --- what is asked

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Follow everything below, starting from the training's standing state."""
        standing(self.follow)
        hooks: list[Any] = [
            register_optimizer_step_pre_hook(self._step_begins),
            register_optimizer_step_post_hook(self._step_ends),
        ]
        hooks += [
            parameter.register_post_accumulate_grad_hook(self._accumulated)  # type: ignore[no-untyped-call]
            for parameter in parameters()
            if parameter.requires_grad and parameter.is_leaf
        ]
        try:
            with ExitStack() as both:
                both.enter_context(self._saved())
                both.enter_context(self)
                yield
        finally:
            for hook in hooks:
                hook.remove()

    def begin(self) -> None:
        """Forget the peak of what was before."""
        self.peak, self._at_peak, self._rising = 0, [], False

    def anatomy(self) -> dict[str, Any]:
        """Bytes at the peak by kind; `wide` are those of floating-point numbers of more than two bytes."""
        held = list(self.alive.values()) if self._rising or not self._at_peak else self._at_peak
        whole, wide = Counter[str](), Counter[str]()
        for each in held:
            whole[KINDS[each.kind]] += each.bytes
            wide[KINDS[each.kind]] += each.bytes if each.wide else 0
        parts = [{"kind": kind, "bytes": whole[kind], "wide": wide[kind]} for kind in KINDS]
        return {"peak": sum(whole.values()), "at": self.at, "phase": self.phase, "parts": parts}

    def _saved(self) -> AbstractContextManager[Any]:
        """Know what autograd keeps for the backward. The hook must not return its argument: that would be a cycle."""

        def pack(tensor: torch.Tensor) -> torch.Tensor:
            if _key(tensor) in self.alive:
                self.follow(tensor, "activations")
            return tensor.detach()

        return torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor)

    def _accumulated(self, parameter: torch.Tensor) -> None:
        if parameter.grad is not None:
            self.follow(parameter.grad, "gradients")

    def _step_begins(self, *_: object) -> None:
        self._stepping += 1

    def _step_ends(self, optimizer: Any, *_: object) -> None:
        self._stepping -= 1
        for tensor in state_tensors(optimizer):
            self.follow(tensor, "optimizer state")


def standing(follow: Callable[[torch.Tensor, str], None]) -> None:
    """Tell of everything that outlives a step: parameters and buffers, gradients, the state of the optimizers."""
    for parameter in parameters():
        follow(parameter, "parameters")
        if parameter.grad is not None:
            follow(parameter.grad, "gradients")
    for optimizer in alive(torch.optim.Optimizer):
        for tensor in state_tensors(optimizer):
            follow(tensor, "optimizer state")


def standing_bytes(device: str) -> int:
    """How much that is on `device`."""
    watch = StorageWatch(device)
    standing(watch.follow)
    return watch.bytes


def parameters() -> list[torch.Tensor]:
    """The parameters and buffers of all living modules, and what the living optimizers move."""
    found: dict[int, torch.Tensor] = {}
    for module in alive(torch.nn.Module):
        for tensor in (*module._parameters.values(), *module._buffers.values()):
            if tensor is not None:
                found[id(tensor)] = tensor
    for optimizer in alive(torch.optim.Optimizer):
        for group in optimizer.param_groups:
            found.update((id(tensor), tensor) for tensor in group["params"])
    return list(found.values())


def state_tensors(optimizer: Any) -> Iterator[torch.Tensor]:
    """The tensors that an optimizer keeps."""
    for state in list(optimizer.state.values()):
        if isinstance(state, dict):
            yield from (value for value in state.values() if isinstance(value, torch.Tensor))


def alive(kind: type[Any]) -> list[Any]:
    """The living objects of a class, found without any help of the project."""
    return [each for each in gc.get_objects() if issubclass(type(each), kind)]


def _tensors(tree: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def _key(tensor: torch.Tensor) -> int:
    """What tells one storage from another while both are alive; 0 where there is none."""
    storage = _storage(tensor)
    return 0 if storage is None else int(storage._cdata)


def _storage(tensor: torch.Tensor) -> Any:
    """The storage of a plain tensor; None where it has none of its own (sparse, meta, a subclass around others)."""
    try:
        return tensor.untyped_storage() if tensor.device.type != "meta" else None
    except (NotImplementedError, RuntimeError):
        return None
