"""The code of a Jupyter notebook as one source file: its code cells, one after the other.

A finding in it names the line of that text; `place` says which cell and which line of the cell that is. What only
IPython understands (`%magic`, `!command`, `name?`) is no Python and is left out, line by line.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterator
from typing import Any

from verifygate.sources.file import AMP_WORDS, SourceFile

PYTHON = ("python", "ipython", "xpython")
_RUNS_THE_CELL = re.compile(
    r"%%(?:time|timeit|capture|prun|debug|python3?|script\s+python3?|writefile(?=.*\.py\s*$))\b"
)
"""Also in a process of its own, or as the file that it is written to."""
_LINE = re.compile(r"^(?P<indent>[ \t]*)(?P<target>[A-Za-z_][\w, ]*=[ \t]*)?(?:[%!]|\?|[\w.]+\?{1,2}[ \t]*$)")


class NotebookFile(SourceFile):
    """A notebook as the module that its code cells make together. It is no file that can be written back."""

    def __init__(self, path: str, text: str, cells: tuple[tuple[int, int], ...]) -> None:
        super().__init__(path, text.encode())
        self._cells = cells
        """For each cell: its number, counted from 1 among all cells, and the line of the text before its first one."""

    def place(self, line: int) -> str:
        """`cell 3, line 4` of a line of the text."""
        number, before = next(cell for cell in reversed(self._cells) if cell[1] < line)
        return f"cell {number}, line {line - before}"


def read_notebook(path: str, data: bytes) -> NotebookFile | str | None:
    """The notebook; None where it holds no Python; or why it cannot be read, where it mentions AMP."""
    try:
        notebook = json.loads(data)
        cells = list(_code_cells(notebook))
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        return f"is no notebook: {type(error).__name__}" if AMP_WORDS.found_in(data) else None
    if not cells:
        return None
    parts: list[str] = []
    places: list[tuple[int, int]] = []
    line = 0
    for number, source in cells:
        text = _python(source)
        if not _parses(text):
            if AMP_WORDS.found_in(text.encode("utf-8", "replace")):
                return f"cell {number} is not Python"
            text = "\n" * text.count("\n")
        places.append((number, line))
        parts.append(f"{text}\n")
        line += text.count("\n") + 1
    return NotebookFile(path, "".join(parts), tuple(places))


def _code_cells(notebook: Any) -> Iterator[tuple[int, str]]:
    told = notebook.get("metadata", {})
    language = told.get("language_info", {}).get("name") or told.get("kernelspec", {}).get("language") or "python"
    if language not in PYTHON:
        return
    for number, cell in enumerate(notebook["cells"], 1):
        source = cell.get("source", "")
        if cell.get("cell_type") == "code":
            yield number, "".join(source) if isinstance(source, list) else str(source)


def _python(source: str) -> str:
    """The cell with each line that only IPython understands in a form that is Python, on the same line."""
    lines = source.replace("\r\n", "\n").encode("utf-8", "replace").decode().split("\n")
    first = next((at for at, line in enumerate(lines) if line.strip()), 0)
    if lines[first].startswith("%%"):
        if not _RUNS_THE_CELL.match(lines[first]):
            return "\n" * (len(lines) - 1)  # another language, or a file that is written
        lines[first] = ""
    text = "\n".join(lines)
    if _parses(text):
        return text
    kept, goes_on = [], False
    for line in lines:
        found = None if goes_on else _LINE.match(line)
        kept.append("" if goes_on else _LINE.sub(_in_python, line) if found else line)
        goes_on = (goes_on or found is not None) and line.endswith("\\")
    return "\n".join(kept)


def _in_python(found: re.Match[str]) -> str:
    return f"{found['indent']}{found['target'] or ''}None  # "  # what follows on the line is a comment then


def _parses(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
