"""The files of one torch: those of an installation, or of a wheel that nobody installs."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from verifygate.base.errors import UsageError

_CHUNK = 1 << 24


class TorchTree:
    """Files by their paths below site-packages, as `torch/amp/grad_scaler.py`."""

    def __init__(self, place: Path) -> None:
        """`place` is a wheel, or the folder that holds `torch`. Raises UsageError where it is neither."""
        self._folder, self._wheel = place, None
        if place.is_file():
            try:
                self._wheel = zipfile.ZipFile(place)
            except zipfile.BadZipFile:
                raise UsageError("is no wheel", where=str(place), remedy="give a file that pip downloaded") from None
        if self.text("torch/version.py") is None:
            remedy = "give a wheel of torch, or the folder in which it is installed"
            raise UsageError("holds no torch", where=str(place), remedy=remedy)

    @property
    def version(self) -> str:
        """As torch gives it, with the build: `2.13.0+cpu`."""
        found = re.search(r"""__version__ = ["']([^"']+)""", self.text("torch/version.py") or "")
        return found[1] if found else "unknown"

    def text(self, path: str) -> str | None:
        """The text of a file; None where there is none."""
        with self._opened(path) as file:
            return file.read().decode("utf-8") if file is not None else None

    def around(self, path: str, word: bytes, before: int) -> Iterator[bytes]:
        """Of a large binary file, each place that holds `word`, with as many bytes before it; nothing without it."""
        with self._opened(path) as file:
            rest = b""
            while file is not None and (read := file.read(_CHUNK)):
                held = rest + read
                at = held.find(word, max(0, len(rest) - len(word) + 1))  # those before were found in the last part
                while at >= 0:
                    yield held[max(0, at - before) : at]
                    at = held.find(word, at + 1)
                rest = held[-before - len(word) + 1 :]

    @contextmanager
    def _opened(self, path: str) -> Iterator[IO[bytes] | None]:
        if self._wheel is not None:
            if path not in self._wheel.NameToInfo:
                yield None
                return
            with self._wheel.open(path) as file:
                yield file
            return
        if not (self._folder / path).is_file():
            yield None
            return
        with (self._folder / path).open("rb") as file:
            yield file
