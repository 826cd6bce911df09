"""The words of one file, of which rules ask for each of its functions: its text may have been let go of by then."""

from __future__ import annotations

from functools import cached_property

from verifygate.sources.file import SourceFile

_APART = bytes(at if bytes((at,)).isalnum() or at == ord("_") else ord(" ") for at in range(256))
"""Leaves letters, digits and underscores of ASCII as they are, and makes a blank of any other byte."""


class Vocabulary:
    """Tells which words stand in a file; what is more than a word, as `.step(`, is looked for in the text."""

    def __init__(self, file: SourceFile) -> None:
        self._file = file
        self._answers: dict[bytes, bool] = {}

    def has(self, *words: bytes) -> bool:
        """Whether one of them stands anywhere in the file, by itself or as a part of a longer word."""
        for word in words:
            found = self._answers.get(word)
            if found is None:
                found = self._answers[word] = word in (self._words if _is_word(word) else self._file.data)
            if found:
                return True
        return False

    @cached_property
    def _words(self) -> bytes:
        """Each word once: a small part of the text."""
        return b" ".join(set(self._file.data.translate(_APART).split()))


def _is_word(text: bytes) -> bool:
    return text.replace(b"_", b"").isalnum()
