"""Put inf or NaN into a run at a chosen moment, and tell what became of it. Installed after `oracle`."""

from __future__ import annotations

import math
from typing import Any

import torch

from ..patching.frames import Place, caller
from . import perturbation
from .line_tracer import LineWatch
from .training_watch import Followed, Tell, plain, version

ATTEMPTS = 3
"""How often a gradient is poisoned again, because it was zeroed before any step could meet it."""


def install(options: dict[str, Any], tell: Tell) -> None:
    """Poison the run.

    `kind`: `inf` writes inf into one gradient element after a backward, as an overflow does; `nan` makes the output
    of a model NaN, and with it the loss. `at`: the window in which it happens, counted from 0; `times`: in how many
    windows in a row.
    """
    watch = perturbation.WATCH[0]
    first, last = int(options["at"]), int(options["at"]) + int(options["times"])
    if options["kind"] == "nan":
        spoiler = _Spoiler(watch, tell, range(first, last))
        torch.nn.modules.module.register_module_forward_pre_hook(spoiler.enter)
        torch.nn.modules.module.register_module_forward_hook(spoiler.leave, always_call=True)
        return
    poison = _Poison(watch, tell, range(first, last))
    watch.before_backward.append(poison.look)
    watch.after_backward.append(poison.spill)
    watch.before_use.append(poison.met)


class _Poison:
    """An inf in one gradient of one optimizer."""

    def __init__(self, watch: Any, tell: Tell, windows: range) -> None:
        self._watch, self._tell, self._windows = watch, tell, windows
        self._done: set[int] = set()
        self._attempts = 0
        self._masked = False
        self._victim: Followed | None = None
        self._parameter: torch.Tensor | None = None
        self._before: dict[int, tuple[int, int]] = {}
        """What each parameter's gradient was when the backward under way began."""
        self._lines: LineWatch | None = None

    def spill(self) -> None:
        """After a backward: write inf into the largest element of the first gradient that it made or changed."""
        window = self._watch.windows
        if window not in self._windows or window in self._done or self._victim is not None:
            return
        for followed in self._watch.followed:
            for parameter in followed.parameters():
                gradient = parameter.grad
                if gradient is None or gradient.is_sparse or version(parameter) == self._before.get(id(parameter)):
                    continue
                values = plain(gradient)
                if values.numel():
                    values[torch.unravel_index(values.abs().argmax(), values.shape)] = math.inf
                    self._infected(followed, parameter, window)
                    return

    def _infected(self, followed: Followed, parameter: torch.Tensor, window: int) -> None:
        self._done.add(window)
        self._victim, self._parameter = followed, parameter
        self._tell("poisoned", window=window, optimizer=followed.index, site=caller())
        self._lines = LineWatch(self._gone, self._vanished, once=True)
        self._lines.start()

    def _gone(self) -> bool:
        """Whether the gradient is there and no longer holds what was put in."""
        if self._parameter is None or self._parameter.grad is None:
            return False
        gradient = plain(self._parameter.grad)
        return bool(torch.isfinite(gradient).all()) and bool(gradient.any())

    def _vanished(self, place: Place) -> None:
        self._masked = True
        self._tell("masked", site=place)

    def look(self) -> None:
        """Before the next backward: a step that was left out by hand ends the watch over the lines."""
        if self._victim is not None and self._watch.windows not in self._done:
            self._forget()
        elif self._victim is not None and self._discarded():
            self._again()
        self._before = {
            id(parameter): version(parameter)
            for followed in self._watch.followed
            for parameter in followed.parameters()
            if parameter.grad is not None
        }

    def met(self, followed: Followed) -> None:
        """An unscale_ or a step begins. A gradient that was zeroed first was no overflow: try again."""
        if followed is not self._victim:
            return
        if self._discarded() and not self._masked:
            self._again()
        else:
            self._forget()

    def _discarded(self) -> bool:
        if self._parameter is None or self._parameter.grad is None:
            return True
        return not bool(plain(self._parameter.grad).any())

    def _again(self) -> None:
        self._attempts += 1
        self._tell("discarded", again=self._attempts < ATTEMPTS, site=caller())
        if self._attempts < ATTEMPTS:
            self._done.clear()
            self._windows = range(self._watch.windows, self._watch.windows + len(self._windows))
        self._forget()

    def _forget(self) -> None:
        if self._lines is not None:
            self._lines.stop()
        self._victim = self._parameter = self._lines = None


class _Spoiler:
    """NaN in the output of the outermost module that runs in training."""

    def __init__(self, watch: Any, tell: Tell, windows: range) -> None:
        self._watch, self._tell, self._windows = watch, tell, windows
        self._done: set[int] = set()
        self._depth = 0

    def enter(self, _module: torch.nn.Module, _inputs: object) -> None:
        self._depth += 1

    def leave(self, module: torch.nn.Module, _inputs: object, output: Any) -> Any:
        self._depth -= 1
        window = self._watch.windows
        if self._depth or window not in self._windows or window in self._done:
            return None
        if not (module.training and torch.is_grad_enabled()):
            return None
        spoilt, count = _spoilt(output)
        if not count:
            return None
        self._done.add(window)
        self._tell("spoilt", window=window, site=caller())
        return spoilt


def _spoilt(output: Any) -> tuple[Any, int]:
    """The output with NaN in every tensor that has a gradient, and how many there are."""
    if isinstance(output, torch.Tensor):
        return (output * math.nan, 1) if output.requires_grad and output.is_floating_point() else (output, 0)
    if isinstance(output, (list, tuple)):
        made = [_spoilt(each) for each in output]
        count = sum(number for _, number in made)
        values = [value for value, _ in made]
        if not count:
            return output, 0
        return (type(output)(*values) if hasattr(output, "_fields") else type(output)(values)), count
    if isinstance(output, dict):
        pairs = {key: _spoilt(value) for key, value in output.items()}
        count = sum(number for _, number in pairs.values())
        if not count:
            return output, 0
        changed = output.copy()
        for key, (value, _) in pairs.items():
            changed[key] = value
        return changed, count
    return output, 0
