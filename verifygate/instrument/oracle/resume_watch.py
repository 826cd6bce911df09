"""Tell the state that every step of a run begins with, and stop a run behind its first checkpoint.

Installed after `oracle`. A state is told at the first unscale_ or step behind a forward.
"""

from __future__ import annotations

import hashlib
import os
import random
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch

from ..patching.frames import Place, caller
from ..patching.wrapping import replace_around
from . import perturbation
from .training_watch import Followed, Tell, Watch, digest, plain


def install(options: dict[str, Any], tell: Tell) -> None:
    """Tell the states; `stop`: end the run at the first backward behind a checkpoint that followed a step."""
    watch = perturbation.WATCH[0]
    states = _States(watch, tell)
    watch.before_use.append(states.told)
    replace_around(torch.nn.Module, "__call__", states.called)
    replace_around(torch.optim.lr_scheduler.LRScheduler, "__init__", states.scheduled)
    if options.get("stop"):
        checkpoint = _Checkpoint(watch, tell)
        replace_around(torch, "save", checkpoint.saved)
        watch.before_backward.append(checkpoint.stop)


class _Checkpoint:
    """The first file that was saved behind a step. What belongs to it may be written up to the next backward."""

    def __init__(self, watch: Watch, tell: Tell) -> None:
        self._watch, self._tell = watch, tell
        self._site: Place | None = None

    def saved(self, old: Callable[..., None], *arguments: Any, **keywords: Any) -> None:
        old(*arguments, **keywords)
        if self._site is None and self._watch.steps.total():
            self._site = caller()
            self._tell("saved", steps=self._watch.steps.total(), window=self._watch.windows, site=self._site)

    def stop(self) -> None:
        if self._site is not None:
            self._tell("enough")
            os._exit(0)


class _States:
    """What the next step depends on."""

    def __init__(self, watch: Watch, tell: Tell) -> None:
        self._watch, self._tell = watch, tell
        self._schedulers: list[Any] = []
        self._depth = 0
        self._step = -1
        """The last step whose state was told."""
        self._inputs: Any = None
        """Digest of what the model was given since the last step."""
        self._random = ""
        self._buffers = ""

    def scheduled(self, old: Callable[..., None], scheduler: Any, *arguments: Any, **keywords: Any) -> None:
        self._schedulers.append(scheduler)
        old(scheduler, *arguments, **keywords)

    def called(self, old: Callable[..., Any], module: torch.nn.Module, *arguments: Any, **keywords: Any) -> Any:
        """Before the outermost module of a forward that trains: its inputs; once a step, random numbers and buffers."""
        if not self._depth and module.training and torch.is_grad_enabled():
            if self._inputs is None:
                self._inputs = hashlib.blake2b(digest_size=16)
                self._random = _random_state()
                self._buffers = digest(plain(buffer) for buffer in module.buffers())
            self._inputs.update(digest(_tensors((arguments, keywords))).encode())
        self._depth += 1
        try:
            return old(module, *arguments, **keywords)
        finally:
            self._depth -= 1

    def told(self, followed: Followed) -> None:
        step = self._watch.steps.total()
        if step == self._step:
            return
        self._step = step
        optimizer = followed.optimizer
        scaler = self._watch.scaler.state_dict() if self._watch.scaler is not None else {}
        entries = [optimizer.state.get(parameter, {}) for parameter in followed.parameters()]
        self._tell(
            "state", step=step, site=caller(),
            parts={
                "weights": digest(followed.weights()),
                "buffers": self._buffers,
                "optimizer": digest(_tensors(entries)),
                "rates": followed.rates(),
                "schedule": [scheduler.last_epoch for scheduler in self._schedulers],
                "scale": scaler.get("scale"),
                "growth": scaler.get("_growth_tracker"),
                "batch": self._inputs.hexdigest() if self._inputs is not None else "",
                "random": self._random,
            },
        )  # fmt: skip
        self._inputs = None


def _tensors(held: Any) -> Iterator[torch.Tensor]:
    """The tensors in a nest of containers, in order."""
    if isinstance(held, torch.Tensor):
        yield plain(held)
    elif isinstance(held, dict):
        for value in held.values():
            yield from _tensors(value)
    elif isinstance(held, (list, tuple)):
        for value in held:
            yield from _tensors(value)


def _random_state() -> str:
    """A digest of the state of torch's, NumPy's and Python's random numbers."""
    state = hashlib.blake2b(digest_size=16)
    state.update(digest([torch.get_rng_state()]).encode())
    state.update(repr(random.getstate()).encode())
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        kind, keys, *rest = numpy.random.get_state()
        state.update(kind.encode() + keys.tobytes() + repr(rest).encode())
    return state.hexdigest()
