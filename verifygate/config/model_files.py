"""Models of frameworks that a project brings: the files that `[static] models` names, as they were read.

What was read is kept as text, and part of every key and digest of the settings: nothing that was worked out with one
text of a model is used with another.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from verifygate.base.errors import UsageError
from verifygate.base.regular_files import MAX_SOURCE_BYTES, read_regular


class ModelFile(NamedTuple):
    """One such file."""

    path: str
    """As the configuration names it: relative to its folder."""
    text: str


def read_model_files(paths: Iterable[str], folder: Path, shown: str = "", named_at: str = "") -> tuple[ModelFile, ...]:
    """The files at these paths below a folder. Raises UsageError.

    Errors put `shown` before a path, and `named_at` is the `file:line` that names them, where it is known.
    """
    return tuple(ModelFile(path, _text(path, folder, f"{shown}{path}", named_at)) for path in paths)


def _text(path: str, folder: Path, where: str, named_at: str) -> str:
    try:
        return read_regular(folder / path, MAX_SOURCE_BYTES, tree=folder).decode("utf-8")
    except OSError as error:
        problem = f"the model `{path}` cannot be read: {error.strerror}"
        remedy = "name a Python file of the project in `[static] models`"
        raise UsageError(problem, where=named_at or where, remedy=remedy) from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        problem = "the model is not UTF-8"
        raise UsageError(problem, where=f"{where}:{line}", remedy="save it as UTF-8") from None
