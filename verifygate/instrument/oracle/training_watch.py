"""Follow optimizers and scalers of a run from outside: what their weights and gradients are after each move.

Nothing here knows in which order the moves should come. Every event has the place in the project that caused it.
"""

from __future__ import annotations

import base64
import ctypes
import hashlib
import os
import struct
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from ..patching.frames import Place, caller
from ..patching.wrapping import replace_around

Tell = Callable[..., None]
SAMPLE = 1024
"""How many weights, evenly spread, are told as numbers beside the digest of all of them."""
MOST_ELEMENTS = 20_000_000
"""Gradients of more elements than this are not digested: the weights alone have to do."""

STEPS_PER_WINDOW = 4
"""A run in which no update comes is stopped after so many steps for each window that was asked for."""


class Followed:
    """One optimizer of the run."""

    def __init__(self, optimizer: torch.optim.Optimizer, index: int) -> None:
        self.optimizer = optimizer
        self.index = index
        self.before = ""
        """Digest of the weights when the step under way began."""

    def parameters(self) -> Iterator[torch.Tensor]:
        for group in self.optimizer.param_groups:
            yield from group["params"]

    def weights(self) -> list[torch.Tensor]:
        return [plain(parameter) for parameter in self.parameters()]

    def gradients(self) -> list[torch.Tensor]:
        return [plain(parameter.grad) for parameter in self.parameters() if parameter.grad is not None]

    def steps(self) -> float:
        """How many steps the optimizer's own state counts; -1 where it keeps no count."""
        for parameter in self.parameters():
            state = self.optimizer.state.get(parameter)
            if state and "step" in state:
                return float(state["step"])
        return -1.0

    def rates(self) -> list[float]:
        return [float(group["lr"]) for group in self.optimizer.param_groups if "lr" in group]


class Watch:
    """Everything that is told of one run. Instruments add to the lists of callbacks."""

    def __init__(self, tell: Tell, windows: int) -> None:
        self.tell = tell
        self.limit = windows
        self.windows = 0
        """Updates of a scaler so far; steps, where no scaler is in use."""
        self.steps: Counter[int] = Counter()
        self.followed: list[Followed] = []
        self.scalers: list[torch.amp.GradScaler] = []
        self.scaler: torch.amp.GradScaler | None = None
        """The one that scaled a loss last."""
        self.before_end: list[Callable[[], None]] = []
        """Called before a run that has shown enough is left."""
        self.before_backward: list[Callable[[], None]] = []
        self.after_backward: list[Callable[[], None]] = []
        self.before_use: list[Callable[[Followed], None]] = []
        """Called before an unscale_ or a step of an optimizer."""
        self.made_scaler: list[Callable[[torch.amp.GradScaler], None]] = []
        self.made_optimizer: list[Callable[[Followed], None]] = []
        self.depth = 0
        """How deep the run is in calls of scaler.step."""
        self._scheduling = 0
        self._differentiating = 0
        self._seen_autocast: set[object] = set()
        self._asked_for = ""

    def start(self) -> None:
        """Put the patches and hooks in place, for as long as the process lives."""
        replace_around(torch.optim.Optimizer, "__init__", self._optimizer_made)
        register_optimizer_step_pre_hook(self._stepping)
        register_optimizer_step_post_hook(self._stepped)
        for name in ("__init__", "scale", "unscale_", "step", "update"):
            replace_around(torch.amp.GradScaler, name, getattr(self, f"_scaler_{name.strip('_')}"))
        replace_around(torch.autograd, "backward", self._backward)
        replace_around(torch.autograd, "grad", self._grad)
        for kind in _all_subclasses(torch.optim.lr_scheduler.LRScheduler):
            if "step" in vars(kind):
                replace_around(kind, "step", self._scheduled)
        replace_around(torch.amp.autocast_mode.autocast, "__enter__", self._autocast)

    # --- who is there

    def find(self, optimizer: torch.optim.Optimizer) -> Followed:
        """The optimizer as followed; one that was never seen made (unpickled, wrapped) is followed from now on."""
        for followed in self.followed:
            if followed.optimizer is optimizer:
                return followed
        followed = Followed(optimizer, len(self.followed))
        self.followed.append(followed)
        return followed

    def _optimizer_made(self, old: Callable[..., None], optimizer: Any, *arguments: Any, **keywords: Any) -> None:
        old(optimizer, *arguments, **keywords)
        followed = self.find(optimizer)
        self.tell(
            "optimizer", optimizer=followed.index, kind=type(optimizer).__name__, site=caller(),
            elements=sum(weight.numel() for weight in followed.weights()),
            dtypes=sorted({str(weight.dtype) for weight in followed.weights()}),
        )  # fmt: skip
        for callback in self.made_optimizer:
            callback(followed)

    def _scaler_init(self, old: Callable[..., None], scaler: Any, *arguments: Any, **keywords: Any) -> None:
        old(scaler, *arguments, **keywords)
        asked = bool(keywords.get("enabled", True))  # positional it is the sixth: nobody writes that
        for callback in self.made_scaler:
            callback(scaler)
        self.scalers.append(scaler)
        self.tell(
            "scaler", scaler=len(self.scalers) - 1, site=caller(), asked=asked, enabled=scaler.is_enabled(),
            scale=float(scaler.get_scale()), window=self.windows,
        )  # fmt: skip

    def _autocast(self, old: Callable[..., Any], context: Any) -> Any:
        key = (context.device, str(context.fast_dtype), context._enabled)
        if key not in self._seen_autocast:
            self._seen_autocast.add(key)
            self.tell(
                "autocast", device=context.device, dtype=str(context.fast_dtype), enabled=context._enabled,
                site=caller(),
            )  # fmt: skip
        return old(context)

    # --- moves

    def _scaler_scale(self, old: Callable[..., Any], scaler: Any, outputs: Any) -> Any:
        self.scaler = scaler
        self.tell("scale", scaler=self._index(scaler), site=caller())
        return old(scaler, outputs)

    def _backward(self, old: Callable[..., None], *arguments: Any, **keywords: Any) -> None:
        if self._differentiating:
            old(*arguments, **keywords)
            return
        if self.windows >= self.limit or max(self.steps.values(), default=0) >= STEPS_PER_WINDOW * self.limit:
            self.tell("enough")
            for callback in self.before_end:
                callback()
            os._exit(0)
        for callback in self.before_backward:
            callback()
        left = [self._leftover(followed) for followed in self.followed]
        self._differentiating += 1
        try:
            old(*arguments, **keywords)
        finally:
            self._differentiating -= 1
        for callback in self.after_backward:
            callback()
        self.move("backward", left=left)

    def _grad(self, old: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        if not self._differentiating:
            self.tell("autograd.grad", site=caller())
        return old(*arguments, **keywords)

    def _scaler_unscale(self, old: Callable[..., None], scaler: Any, optimizer: Any) -> None:
        if self.depth:
            old(scaler, optimizer)
            return
        self.move("unscale", False)
        if isinstance(optimizer, torch.optim.Optimizer):
            for callback in self.before_use:
                callback(self.find(optimizer))
        old(scaler, optimizer)
        self.move("unscaled")

    def _scaler_step(
        self, old: Callable[..., Any], scaler: Any, optimizer: Any, *arguments: Any, **keywords: Any
    ) -> Any:
        inner = getattr(optimizer, "optimizer", optimizer)
        owner = optimizer if isinstance(optimizer, torch.optim.Optimizer) else inner
        if not isinstance(owner, torch.optim.Optimizer):
            return old(scaler, optimizer, *arguments, **keywords)
        followed = self.find(owner)
        self._begin(followed)
        self.depth += 1
        try:
            result = old(scaler, optimizer, *arguments, **keywords)
        finally:
            self.depth -= 1
        self._end(followed, "scaler")
        return result

    def _stepping(self, optimizer: torch.optim.Optimizer, _arguments: Any, _keywords: Any) -> None:
        if not self.depth:
            self._begin(self.find(optimizer))

    def _stepped(self, optimizer: torch.optim.Optimizer, _arguments: Any, _keywords: Any) -> None:
        if not self.depth:
            self._end(self.find(optimizer), "optimizer")
            if self.scaler is None:
                self.windows += 1

    def _begin(self, followed: Followed) -> None:
        self.move("step", False)
        for callback in self.before_use:
            callback(followed)
        followed.before = digest(followed.weights())

    def _end(self, followed: Followed, by: str) -> None:
        self.steps[followed.index] += 1
        if (precision := asked_of_accelerate()) != self._asked_for:
            self._asked_for = precision
            self.tell("delegated", framework="Accelerate", precision=precision, site=caller())
        weights = followed.weights()
        after = digest(weights)
        self.tell(
            "stepped", window=self.windows, optimizer=followed.index, by=by, site=caller(), scale=self.scale(),
            weights=after, moved=after != followed.before, count=followed.steps(), rates=followed.rates(),
            finite=all(bool(torch.isfinite(weight).all()) for weight in weights), sample=sample(weights),
        )  # fmt: skip

    def _scaler_update(self, old: Callable[..., None], scaler: Any, *arguments: Any, **keywords: Any) -> None:
        before = float(scaler.get_scale())
        old(scaler, *arguments, **keywords)
        self.tell(
            "updated", window=self.windows, scaler=self._index(scaler), site=caller(), before=before,
            after=float(scaler.get_scale()), given=bool(arguments or keywords),
            backoff=float(getattr(scaler, "_backoff_factor", 1.0)),
        )  # fmt: skip
        self.windows += 1

    def _scheduled(self, old: Callable[..., Any], scheduler: Any, *arguments: Any, **keywords: Any) -> Any:
        self._scheduling += 1
        try:
            result = old(scheduler, *arguments, **keywords)
        finally:
            self._scheduling -= 1
        if not self._scheduling:
            self.tell("scheduled", window=self.windows, site=caller())
        return result

    # --- what the gradients are

    def scale(self) -> float:
        """The scale of the scaler in use; 1 where there is none."""
        return float(self.scaler.get_scale()) if self.scaler is not None else 1.0

    def move(self, kind: str, done: bool = True, site: Place | None = None, **fields: object) -> None:
        """Tell a move, and for every optimizer the digest of its gradients, as they are and divided by the scale."""
        scale = self.scale()
        told = []
        for followed in self.followed:
            gradients = followed.gradients()
            if sum(gradient.numel() for gradient in gradients) > MOST_ELEMENTS:
                gradients = []
            inverse = 1.0 / scale if scale else 1.0
            told.append([digest(gradients), digest(gradient * inverse for gradient in gradients)])
        self.tell("move", kind=kind, done=done, window=self.windows, site=site or caller(), gradients=told, **fields)

    def _leftover(self, followed: Followed) -> bool:
        """Whether gradients are there before the backward that will add to them."""
        return any(bool(gradient.any()) for gradient in followed.gradients())

    def _index(self, scaler: Any) -> int:
        return next((at for at, known in enumerate(self.scalers) if known is scaler), -1)


def asked_of_accelerate() -> str:
    """The precision that Accelerate was asked for; empty where it is not in use, or keeps it elsewhere."""
    state = getattr(sys.modules.get("accelerate.state"), "AcceleratorState", None)
    return str(getattr(state, "_shared_state", {}).get("_mixed_precision") or "")


def version(parameter: torch.Tensor) -> tuple[int, int]:
    """What changes whenever a parameter's gradient is written in place, or is another one."""
    return (id(parameter.grad), parameter.grad._version if parameter.grad is not None else -1)


def plain(tensor: torch.Tensor) -> torch.Tensor:
    """The values that lie in this process, dense and without a graph."""
    tensor = tensor.detach()
    if hasattr(tensor, "to_local"):
        tensor = tensor.to_local()
    return tensor.to_dense() if tensor.is_sparse else tensor


def digest(tensors: Iterable[torch.Tensor]) -> str:
    """A digest of the bits of all the tensors; the empty string where there is none."""
    whole, empty = hashlib.blake2b(digest_size=16), True
    for tensor in tensors:
        here = tensor.to("cpu").contiguous()
        whole.update(ctypes.string_at(here.data_ptr(), here.numel() * here.element_size()))
        empty = False
    return "" if empty else whole.hexdigest()


def sample(weights: list[torch.Tensor]) -> str:
    """Some weights, evenly spread over all, as base64 of little-endian doubles."""
    total = sum(weight.numel() for weight in weights)
    every = max(1, total // SAMPLE)
    values: list[float] = []
    offset = 0
    for weight in weights:
        values += weight.reshape(-1)[offset::every].double().tolist()
        offset = (offset - weight.numel()) % every
    return base64.b64encode(struct.pack(f"<{len(values)}d", *values)).decode("ascii")


def _all_subclasses(kind: type[Any]) -> list[type[Any]]:
    found = [kind]
    for below in kind.__subclasses__():
        found += _all_subclasses(below)
    return list(dict.fromkeys(found))
