"""Suppressions in comments: `# verifygate: ignore[AMP201] reason`, and `# noqa: AMP201`.

A suppression names its rules, and says why. It stands on the line of the finding, at the end of the first or the last
line of the statement that the finding is in, or alone on the line above.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from functools import cache

from verifygate.base.records import record
from verifygate.sources.file import SourceFile, SourceUnreadableError

# What another tool is told behind it, a code of ruff say, is no reason; a number (`#123`) may be one.
_OWN = r"(?i)#\s*verifygate:\s*(?P<word>\w+)?\s*(?:\[(?P<rules>[^\]]*)\])?\s*(?P<reason>.*?)\s*(?:#\s*[a-z].*)?$"
_NOQA = r"(?i)#\s*noqa:\s*(?P<rules>[A-Z]+[0-9]+(?:[,\s]+[A-Z]+[0-9]+)*)(?P<reason>.*)$"


@record
class Directive:
    """One rule that one comment suppresses."""

    path: str
    comment_line: int
    line: int
    """The line whose findings it silences: the first of them, where they are those of a statement."""
    last: int
    rule: str
    """As written: a code or a name; empty where none is named."""
    reason: str
    foreign: bool = False
    """From a `noqa`, which may name other tools' rules: an unused one is no finding."""


def directives(file: SourceFile, codes: tuple[str, ...]) -> Iterator[Directive]:
    """Every suppression in a file; none where it cannot be read.

    Files in which a `noqa` names none of `codes`, those of all rules, are not gone through: most are for other tools.
    """
    lowered = file.data.lower()
    if b"verifygate:" not in lowered and (b"noqa:" not in lowered or not _noqa_of(codes).search(lowered)):
        return
    for number, text, first, last in _comments(file):
        if own := re.search(_OWN, text):
            rules = _split(own["rules"] or "") if (own["word"] or "").lower() == "ignore" else []
            for rule in rules or [""]:
                yield Directive(file.path, number, first, last, rule, own["reason"].strip(" -:"))
        elif noqa := re.search(_NOQA, text):
            for rule in _split(noqa["rules"]):
                yield Directive(file.path, number, first, last, rule.upper(), noqa["reason"].strip(" -:"), foreign=True)


@cache
def _noqa_of(codes: tuple[str, ...]) -> re.Pattern[bytes]:
    """What stands, in small letters, in the bytes of each file that `_NOQA` finds one of these codes in."""
    return re.compile(f"noqa:[^\\r\\n]*(?:{'|'.join(codes)})".lower().encode())


def _comments(file: SourceFile) -> list[tuple[int, str, int, int]]:
    """Line and text of each comment that may be a suppression, and the first and the last line that it is about."""
    import tokenize  # few files get here

    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(file.text).readline))
    except (SourceUnreadableError, tokenize.TokenError, SyntaxError):
        return []
    layout = (tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    ends: dict[int, int] = {}
    begins: dict[int, int] = {}
    start = 0
    for token in tokens:
        if not start and token.type not in layout:
            start = token.start[0]
        if token.type == tokenize.NEWLINE:
            ends[start], begins[token.start[0]] = token.start[0], start
            start = 0
    found = []
    for token in tokens:
        number = token.start[0]
        if token.type != tokenize.COMMENT or not _may_suppress(token.string):
            continue
        if token.line[: token.start[1]].strip() == "":
            number = _next_code_line(file.lines, number)
        first = begins.get(number, number) if number == token.start[0] else number
        found.append((token.start[0], token.string, first, ends.get(first, number)))
    return found


def _may_suppress(comment: str) -> bool:
    lowered = comment.lower()
    return "verifygate:" in lowered or "noqa" in lowered


def _next_code_line(lines: list[str], number: int) -> int:
    """The first line below a comment that is neither empty nor a comment."""
    for line in range(number + 1, len(lines) + 1):
        text = lines[line - 1].strip()
        if text and not text.startswith("#"):
            return line
    return number


def _split(text: str) -> list[str]:
    return [part for part in re.split(r"[,\s]+", text.strip()) if part]
