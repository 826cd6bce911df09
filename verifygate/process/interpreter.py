"""Which interpreter runs the audited project's code: the configured one, else the one discovered."""

from __future__ import annotations

import os
from pathlib import Path

from verifygate.base.errors import UsageError
from verifygate.config.settings import Settings
from verifygate.process.subject import discover_interpreter


def interpreter_of(settings: Settings) -> Path:
    """The project's interpreter: the one that is configured, else the one discovered. Raises UsageError."""
    if not (given := settings.execution.interpreter):
        return discover_interpreter(settings.root)
    path = Path(given) if Path(given).is_absolute() else settings.root / given
    if not (path.is_file() and os.access(path, os.X_OK)):
        raise UsageError(
            f"`{given}` is not an interpreter: it {'cannot be executed' if path.is_file() else 'does not exist'}",
            where=settings.place("execution", "interpreter"),
            remedy="name the project's Python, for example `.venv/bin/python`",
        )
    return path
