"""Where in the sources a report points: `train.py:88`, `train.py (lines 73-90)`, `line 12` below a file's name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from verifygate.claims.markdown import Document, Sentence
from verifygate.claims.text_files import DATA_SUFFIXES, PROGRAM_SUFFIXES

_SUFFIX = "|".join(
    sorted((re.escape(suffix[1:]) for suffix in PROGRAM_SUFFIXES | DATA_SUFFIXES), key=len, reverse=True)
)
_PATH = rf"(?<![\w/.:@-])(?P<path>(?:\.{{0,2}}/)?(?:[\w.@+-]+/)*[\w.@+-]+\.(?:{_SUFFIX}))(?![\w/])(?!\.\w)"
PATH = re.compile(_PATH)
_RANGE = r"\d{1,6}(?:\s?[-–]\s?\d{1,6})?"
_RANGES = rf"{_RANGE}(?:\s?(?:,|and|&)\s?{_RANGE})*"
_WITH_LINES = re.compile(rf"{_PATH}`?:L?(?P<lines>{_RANGES})(?![\w%]|\.\d)")
_LINES = re.compile(
    rf"\b(?:at |on )?(?:line\s?:?\s?#?(?P<line>{_RANGES})"
    rf"|lines\s?:?\s?#?(?P<lines>{_RANGE}(?:\s?(?:,|and|&)\s?{_RANGE})+|\d+\s?[-–]\s?\d+))"
    r"(?![\w%]|\.\d|\s?(?:of code|LOC)\b)",
    re.IGNORECASE,
)
"""`lines 120` alone is as likely a length as a place."""
_ONE = re.compile(r"(\d{1,6})(?:\s?[-–]\s?(\d{1,6}))?")
_FOREIGN = re.compile(
    r"site-packages|node_modules|dist-packages|lib/python\d|^/(?:usr|opt|home|tmp|var|etc|Users)/|^https?:"
)


@dataclass(frozen=True)
class Place:
    """Lines that a sentence cites; `path` is empty where no file can be told."""

    sentence: Sentence
    path: str
    ranges: tuple[tuple[int, int], ...]
    words: str
    line: int
    start: int
    """Where in the sentence the words begin, and end."""
    end: int

    @property
    def foreign(self) -> bool:
        return _FOREIGN.search(self.path) is not None

    @property
    def told(self) -> str:
        return ", ".join(f"{low}-{high}" if high > low else str(low) for low, high in self.ranges)


def places(document: Document) -> Iterator[Place]:
    """Every citation of lines, with the file it belongs to where that is plain."""
    current: tuple[int, str] | None = None  # the section's line and the file named in it
    for sentence in document.sentences:
        paths = [match["path"] for match in PATH.finditer(sentence.text)]
        taken: list[tuple[int, int]] = []
        for match in _WITH_LINES.finditer(sentence.text):
            taken.append(match.span())
            yield from _place(sentence, match["path"], match["lines"], match)
        distinct = list(dict.fromkeys(paths))
        for match in _LINES.finditer(sentence.text):
            if any(first <= match.start() < last for first, last in taken):
                continue
            path = distinct[0] if len(distinct) == 1 else "" if distinct else _implied(sentence, current)
            yield from _place(sentence, path, match["line"] or match["lines"], match)
        if len(distinct) == 1 and (sentence.role == "heading" or sentence.label in _NAMES_A_FILE):
            current = (sentence.section.line, distinct[0])
        elif distinct and sentence.role in ("heading", "text"):
            current = None


_NAMES_A_FILE = frozenset({"file", "location", "path", "module", "source", "source file", "file path"})


def _implied(sentence: Sentence, current: tuple[int, str] | None) -> str:
    """The file that the heading, or a `File:` line below it, names."""
    if current is None or all(section.line != current[0] for section in sentence.section.path):
        return ""
    return current[1]


def _place(sentence: Sentence, path: str, lines: str, match: re.Match[str]) -> Iterator[Place]:
    ranges = []
    for found in _ONE.finditer(lines):
        low = int(found[1])
        high = int(found[2] or low)
        if low < 1 or high < low:
            return
        ranges.append((low, high))
    if ranges:
        yield Place(
            sentence,
            path,
            tuple(ranges),
            match[0].strip("` "),
            sentence.line_of(match.start()),
            match.start(),
            match.end(),
        )


def base_name(path: str) -> str:
    return PurePosixPath(path).name
