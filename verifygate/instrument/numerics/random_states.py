"""The random states at the beginning of an iteration: torch's, and Python's and NumPy's where the run draws by them."""

from __future__ import annotations

import random
import sys
from typing import Any

import torch

TRIES = 4
"""Iterations after which a generator that nobody drew by is not looked at any more: to copy its state takes time."""


class RandomStates:
    """Kept anew after each iteration; to be put back in a process that runs it again."""

    def __init__(self) -> None:
        self._torch: Any = torch.get_rng_state()
        self._others: dict[str, Any] = {"random": random.getstate(), "numpy": _of_numpy()}
        self._drawn_by: set[str] = set()
        self._looks = 0

    def keep(self) -> None:
        """An iteration begins."""
        self._torch = torch.get_rng_state()
        self._looks += 1
        for name in tuple(self._others) if self._looks <= TRIES else self._drawn_by:
            state = random.getstate() if name == "random" else _of_numpy()
            if name not in self._drawn_by and repr(state) != repr(self._others[name]):
                self._drawn_by.add(name)
            self._others[name] = state

    def keep_torch(self) -> None:
        """A part of an iteration begins: another batch whose gradients are added up."""
        self._torch = torch.get_rng_state()

    def put_back(self) -> None:
        torch.set_rng_state(self._torch)
        random.setstate(self._others["random"])
        if self._others["numpy"] is not None:
            sys.modules["numpy"].random.set_state(self._others["numpy"])


def _of_numpy() -> Any:
    numpy: Any = sys.modules.get("numpy")
    return numpy.random.get_state() if numpy is not None else None
