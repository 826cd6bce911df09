"""`# requirement: AMP-03` in the code: which requirement a function, a class or a statement is there for.

A mark stands on a line of code, or alone right above one (decorators, other comments and one blank line may lie
between). It links the innermost function or class around that line, and it may name several requirements.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from verifygate.requirements.symbol_digests import FileSymbols, Symbol, Symbols
from verifygate.sources.file import SourceFile, SourceUnreadableError

_MARK = re.compile(r"#\s*requirement:\s*(?P<said>.*?)\s*$", re.IGNORECASE)
"""In the singular: `# requirements: torch, numpy` is how scripts list packages."""
_ID = re.compile(r"[A-Za-z][A-Za-z0-9._-]*")
_ASIDE = re.compile(r"\s+(?:-+|\u2013|\u2014|\()\s*.*$")
"""What may follow the ids: `# requirement: AMP-03 - why here`, `# requirement: AMP-03 (the clip)`."""
NEAR = 1
"""Blank lines that may lie between a mark and what it marks: two end a paragraph of code by PEP 8."""


@dataclass(frozen=True)
class Mark:
    """One requirement that one comment names."""

    path: str
    line: int
    requirement: str
    symbol: Symbol | None
    problem: str = ""
    """Why it marks nothing; empty where it does."""


def marks(files: Iterable[SourceFile], symbols: Symbols, known: Collection[str]) -> list[Mark]:
    """Every mark, in order of place. `known` ids tell a mark with a slip in it from a sentence."""
    return [
        Mark(file.path, line, identifier, *_marked(file, symbols, line, column, alone))
        for file in files
        if file.has_marks
        for line, column, said, alone in _comments(file)
        for identifier in named(said, known)
    ]


def named(said: str, known: Collection[str]) -> tuple[str, ...]:
    """The ids that a comment names. Words that could only be prose name nothing: `# requirement: the loss is finite`.

    One word alone, a word with a digit in it, and words between commas are meant as ids, known or not.
    """
    words = _ASIDE.sub("", said).rstrip(".,;").strip()
    parts = [part for part in re.split(r"\s*,\s*|\s+", words) if part]
    if not parts or not all(_ID.fullmatch(part) for part in parts):
        return ()
    listed = "," in words and all(len(part.split()) == 1 for part in words.split(","))
    meant = len(parts) == 1 or listed or all(part in known or re.search(r"\d", part) for part in parts)
    return tuple(dict.fromkeys(parts)) if meant else ()


def _comments(file: SourceFile) -> Iterator[tuple[int, int, str, bool]]:
    """Line, column, what is said, and whether nothing else stands on the line, of each comment that may be a mark."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(file.text).readline):
            if token.type == tokenize.COMMENT and (found := _MARK.match(token.string)):
                line, column = token.start
                yield line, column, found["said"], token.line[:column].strip() == ""
    except (SourceUnreadableError, tokenize.TokenError, SyntaxError):
        return  # what cannot be read is listed as not analysed


def _marked(file: SourceFile, symbols: Symbols, line: int, column: int, alone: bool) -> tuple[Symbol | None, str]:
    """The symbol that a mark on this line links, or why there is none."""
    found = symbols.of(file.path)
    if found is None:
        return None, f"the file cannot be parsed: {symbols.problem(file.path)}"
    if not alone:
        return found.at(line), ""
    below = _next_code(file.lines, line)
    if below is None or len(file.lines[below - 1]) - len(file.lines[below - 1].lstrip()) < column:
        return _above(file.lines, line, found)
    blank = sum(not file.lines[number - 1].strip() for number in range(line + 1, below))
    if blank > NEAR:
        return None, f"{blank} blank lines lie between it and the code below"
    return found.at(below), ""


def _above(lines: list[str], line: int, found: FileSymbols) -> tuple[Symbol | None, str]:
    """A comment that ends an indented block belongs to that block; at the file's margin it belongs to nothing."""
    indented = len(lines[line - 1]) - len(lines[line - 1].lstrip()) > 0
    above = next((number for number in range(line - 1, 0, -1) if _is_code(lines[number - 1])), None)
    if not indented or above is None:
        return None, "nothing follows it"
    return found.at(above), ""


def _next_code(lines: list[str], line: int) -> int | None:
    return next((number for number in range(line + 1, len(lines) + 1) if _is_code(lines[number - 1])), None)


def _is_code(text: str) -> bool:
    return bool(text.strip()) and not text.lstrip().startswith("#")
