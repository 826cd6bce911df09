"""Suppressions in comments: `# verifygate: ignore[AMP201] reason`, and `# noqa: AMP201`.

A suppression names its rules, and says why. It stands on the line of the finding, or alone on the line above.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from functools import cache

from verifygate.record import record
from verifygate.source import SourceFile, SourceUnreadableError

_OWN = r"#\s*verifygate:\s*(?P<word>\w+)?\s*(?:\[(?P<rules>[^\]]*)\])?\s*(?P<reason>.*)$"
_NOQA = r"(?i)#\s*noqa:\s*(?P<rules>[A-Z]+[0-9]+(?:[,\s]+[A-Z]+[0-9]+)*)(?P<reason>.*)$"


@record
class Directive:
    """One rule that one comment suppresses."""

    path: str
    comment_line: int
    line: int
    """The line whose findings it silences."""
    rule: str
    """As written: a code or a name; empty where none is named."""
    reason: str
    foreign: bool = False
    """From a `noqa`, which may name other tools' rules: an unused one is no finding."""


def directives(file: SourceFile, codes: tuple[str, ...]) -> Iterator[Directive]:
    """Every suppression in a file; none where it cannot be read.

    Files in which a `noqa` names none of `codes`, those of all rules, are not gone through: most are for other tools.
    """
    if b"verifygate:" not in file.data:
        lowered = file.data.lower()
        if b"noqa:" not in lowered or not _noqa_of(codes).search(lowered):
            return
    for number, text, alone in _comments(file):
        line = _next_code_line(file.lines, number) if alone else number
        if own := re.search(_OWN, text):
            rules = _split(own["rules"] or "") if own["word"] == "ignore" else []
            for rule in rules or [""]:
                yield Directive(file.path, number, line, rule, own["reason"].strip(" -:"))
        elif noqa := re.search(_NOQA, text):
            for rule in _split(noqa["rules"]):
                yield Directive(file.path, number, line, rule.upper(), noqa["reason"].strip(" -:"), foreign=True)


@cache
def _noqa_of(codes: tuple[str, ...]) -> re.Pattern[bytes]:
    """What stands, in small letters, in the bytes of each file that `_NOQA` finds one of these codes in."""
    return re.compile(f"noqa:[^\\r\\n]*(?:{'|'.join(codes)})".lower().encode())


def _comments(file: SourceFile) -> list[tuple[int, str, bool]]:
    """Line, text, and whether nothing else stands on the line, of each comment that may be a suppression."""
    import tokenize  # few files get here

    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(file.text).readline))
    except (SourceUnreadableError, tokenize.TokenError, SyntaxError):
        return []
    return [
        (token.start[0], token.string, token.line[: token.start[1]].strip() == "")
        for token in tokens
        if token.type == tokenize.COMMENT and ("verifygate:" in token.string or "noqa" in token.string.lower())
    ]


def _next_code_line(lines: list[str], number: int) -> int:
    """The first line below a comment that is neither empty nor a comment."""
    for line in range(number + 1, len(lines) + 1):
        text = lines[line - 1].strip()
        if text and not text.startswith("#"):
            return line
    return number


def _split(text: str) -> list[str]:
    return [part for part in re.split(r"[,\s]+", text.strip()) if part]
