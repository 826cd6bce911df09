"""Parse Python source text with the standard library's parser, and say in one line what it refuses.

(libcst parses about seven times slower and keeps no positions; it is loaded only where a fix has to keep a file's
formatting.)
"""

from __future__ import annotations

import ast

from verifygate.sources.file import SourceFile, SourceUnreadableError
from verifygate.static.syntax.compaction import slim
from verifygate.static.syntax.traversal import deeper_than

MAX_NESTING = 250
"""Levels of the syntax tree below which a file is not analysed; what people write stays below a hundred."""

_NEEDS = "the file needs "


class UnparsableError(Exception):
    """The file is not Python that this interpreter can parse; the message says why in one line."""


class BrokenError(UnparsableError):
    """No Python that is known can parse it."""


def parse(file: SourceFile, *, slims: bool = True) -> ast.Module:
    """Parse one file. Raises UnparsableError for text that is no Python, or too deep for the parser.

    A tree is made small (`slims`), which pays where it is kept.
    """
    try:
        return parse_code(file.data if file.is_plain else file.text, slims=slims)
    except SourceUnreadableError as error:
        raise UnparsableError(str(error)) from error


def parse_code(code: str | bytes, *, slims: bool = True) -> ast.Module:
    """The same for source text, or plain bytes of it. Raises UnparsableError."""
    try:
        tree = _parsed(code)
    except SyntaxError as error:
        refused = UnparsableError if _NEEDS in error.msg else BrokenError
        raise refused(f"line {error.lineno or 1}: {error.msg}") from error
    except (RecursionError, MemoryError, ValueError) as error:
        raise UnparsableError(f"nested too deeply or not parsable ({type(error).__name__})") from error
    if (slim if slims else deeper_than)(tree, MAX_NESTING):
        raise UnparsableError(f"nested deeper than {MAX_NESTING} levels")
    return tree


def _parsed(code: str | bytes) -> ast.Module:
    """The tree, of source for a newer Python too. Raises SyntaxError, which names the Python where one is known."""
    try:
        return ast.parse(code)
    except SyntaxError as error:
        refused = error
    from verifygate.static.syntax.newer_python import downlevelled  # few sources are

    rewritten = downlevelled(code if isinstance(code, str) else code.decode("utf-8", "replace"))
    try:
        if rewritten.needs:
            return ast.parse(rewritten.code)
    except SyntaxError as error:
        refused = error
        refused.msg += f" ({_NEEDS}{rewritten.needs})"
    raise refused
