"""Walk the stack to the frame of the project that called into torch."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import torch

Place = tuple[str, int]
"""A file and a line in it; `("", 0)` where no frame of the project is on the stack."""

_OWN = str(Path(__file__).parents[1]) + os.sep
_TORCH = str(Path(torch.__file__).parent) + os.sep
_LIBRARY = str(Path(os.__file__).parent) + os.sep


def of_torch_or_ours(path: str) -> bool:
    """Whether a file is torch's or the instruments', or is no file at all (`<frozen importlib._bootstrap>`)."""
    return path.startswith((_OWN, _TORCH, "<"))


def foreign(path: str) -> bool:
    """Whether a file is not the project's: torch's, Python's, an installed package's or the instruments'."""
    return of_torch_or_ours(path) or path.startswith(_LIBRARY) or f"{os.sep}site-packages{os.sep}" in path


def of_the_library(path: str) -> bool:
    """Whether a file is of Python's standard library; installed packages lie below it, and are not."""
    installed = any(f"{os.sep}{name}{os.sep}" in path for name in ("site-packages", "dist-packages"))
    return path.startswith(_LIBRARY) and not installed


def stack(frame: FrameType | None) -> Iterator[FrameType]:
    """A frame and those that led to it, innermost first."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def caller(outside: Callable[[str], bool] = foreign) -> Place:
    """The innermost place whose file is not `outside`; by default, in the project's own code."""
    for frame in stack(sys._getframe(1)):
        if not outside(frame.f_code.co_filename):
            return frame.f_code.co_filename, frame.f_lineno
    return "", 0
