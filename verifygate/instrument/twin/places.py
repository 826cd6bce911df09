"""Whose call it is: the nearest frame of the project, unless a library works there for itself.

Between an operator and the project's line there may be `forward` methods of torch's modules: those are what the line
computes. An optimizer, an initialiser, a data loader or another package computes for itself; of that nothing is told.
What a training framework does to the protocol (scale, step, clip, open a region) it does for the line that called it.
"""

from __future__ import annotations

import os
import sys
from enum import Enum
from pathlib import Path
from types import CodeType, FrameType

import torch

from ..patching.frames import foreign, of_the_library, of_torch_or_ours

_TORCH = str(Path(torch.__file__).parent) + os.sep
_FOR_ITSELF = tuple(
    _TORCH + name.replace("/", os.sep)
    for name in ("optim/", "amp/grad_scaler", "utils/", "nn/init", "nn/utils/", "distributed/", "_dynamo/", "jit/")
)
_OPTIMIZERS = (_TORCH + "optim" + os.sep, _TORCH + "utils" + os.sep + "_contextlib")
"""What stands between a framework and the closure that it gives to an optimizer."""
_STEP = (*_OPTIMIZERS, _TORCH + "amp" + os.sep + "grad_scaler")
_CONSTRUCTS = ("__init__", "reset_parameters", "_reset_parameters", "__setstate__")


class _Frame(Enum):
    OWN = "of the project"
    BETWEEN = "what a line of the project computes"
    PACKAGE = "an installed package, as a training framework is"
    FOR_ITSELF = "a library at work for itself"


class Places:
    """Places in the project below a root."""

    def __init__(self, root: Path) -> None:
        self._root = str(root) + os.sep
        self._known: dict[CodeType, _Frame] = {}

    def own(self, code: CodeType) -> bool:
        """Whether it is code of the project."""
        return self._of(code) is _Frame.OWN

    def here(self, *, of_protocol: bool = False, from_step: bool = False) -> tuple[str, int] | None:
        """Path below the root, and line; None where a library works for itself, or nothing of the project runs.

        `of_protocol`: what a framework does is asked about as well, in the closure of a step too; its line is the
        project's that called it. `from_step`: the step of an optimizer is, by whatever of torch's it is called.
        """
        through = _STEP if from_step else _OPTIMIZERS
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            code = frame.f_code
            found = self._of(code)
            if found is _Frame.OWN:
                return code.co_filename.removeprefix(self._root).replace(os.sep, "/"), frame.f_lineno
            passes = of_protocol and (found is _Frame.PACKAGE or code.co_filename.startswith(through))
            if found is not _Frame.BETWEEN and not passes:
                return None
            frame = frame.f_back
        return None

    def _of(self, code: CodeType) -> _Frame:
        found = self._known.get(code)
        if found is None:
            found = self._known[code] = self._kind(code)
        return found

    def _kind(self, code: CodeType) -> _Frame:
        path = code.co_filename
        if path.startswith(self._root) and not foreign(path):
            return _Frame.OWN
        if of_torch_or_ours(path):
            itself = path.startswith(_FOR_ITSELF) or code.co_name in _CONSTRUCTS
            return _Frame.FOR_ITSELF if itself else _Frame.BETWEEN
        return _Frame.BETWEEN if of_the_library(path) else _Frame.PACKAGE
