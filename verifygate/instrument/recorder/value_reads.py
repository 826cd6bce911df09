"""Did anybody read a value of a tensor between two moments? Whoever did may have looked for inf and NaN.

A program that steps its optimizer itself, after `unscale_`, is right if it looked at the gradients first, in whatever
form. All forms end in a value that leaves torch for Python; where none left, there was no look. What is watched here
is every way out, and only in a program that steps this way at all: the watch begins when it first does.
"""

from __future__ import annotations

import torch

from ..patching.wrapping import After
from .recording import Arguments, Keywords, Recording

METHODS = (
    "item tolist numpy __array__ __dlpack__ __bool__ __float__ __int__ __index__ __complex__ __contains__ is_nonzero "
    "equal allclose cpu"
)
FUNCTIONS = ("equal", "allclose", "is_nonzero", "_is_all_true", "_is_any_true")


class ValueReads:
    """Counts what leaves torch."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.count = 0
        self.on = False

    def start(self) -> None:
        """Count from here on."""
        if not self.on:
            self.on = True
            for name in METHODS.split():
                self.recording.around_operator(torch.Tensor, name, self._read, beside=True)
            for name in FUNCTIONS:
                self.recording.around_operator(torch, name, self._read)

    def _read(self, _arguments: Arguments, _keywords: Keywords) -> After | None:
        self.count += 1
        return None
