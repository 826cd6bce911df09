"""Is torch.compile in use? A dispatch mode would keep it from compiling, and a whole graph that is asked for raises."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch

_TORCH = os.path.dirname(torch.__file__) + os.sep  # noqa: PTH120 - compared with a prefix
_in_use = False
_modes: list[Callable[[], None]] = []
"""What takes the dispatch modes of the instruments off, once the project begins to compile."""


def watch(around: Callable[[Any, str, Any], None]) -> None:
    """Notice when the project calls torch.compile, before anything is compiled."""
    around(torch, "compile", _asked)


def before_compilation(leave: Callable[[], None]) -> None:
    """Have this called as soon as the project asks for torch.compile."""
    _modes.append(leave)


def compiles() -> bool:
    """Whether torch.compile was asked for, or has compiled anything: autocast regions in there pass unseen."""
    dynamo = sys.modules.get("torch._dynamo.utils")
    return _in_use or bool(dynamo is not None and any(dynamo.counters.get(each) for each in ("frames", "stats")))


def _asked(_arguments: object, _keywords: object) -> None:
    """A call of torch.compile: an installed package may make one that is never run."""
    global _in_use
    frame: FrameType | None = sys._getframe(3)
    while frame is not None and frame.f_code.co_filename.startswith(_TORCH):  # `module.compile()`
        frame = frame.f_back
    if not _in_use and frame is not None and "site-packages" not in frame.f_code.co_filename:
        _in_use = True
        for leave in _modes:
            leave()
