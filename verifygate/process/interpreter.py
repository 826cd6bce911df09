"""Which interpreter runs the audited project's code: the configured one, else the one discovered."""

from __future__ import annotations

import os
from pathlib import Path

from verifygate.base.errors import UsageError
from verifygate.config.settings import Settings
from verifygate.process.isolation import LAYERS, possible
from verifygate.process.subject import Subject, discover_interpreter


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


def subject_of(settings: Settings) -> Subject:
    """The project as it is configured to run. Raises UsageError, also where isolation is required and cannot hold."""
    wanted = settings.execution.isolation
    if wanted == "required" and (missing := [name for name in LAYERS if name not in possible()]):
        raise UsageError(
            f"isolation is required, and this machine does not grant: {', '.join(missing)}",
            where=settings.place("execution", "isolation"),
            remedy="run where the kernel grants user namespaces and Landlock, or set `isolation` to `auto`",
        )
    return Subject(settings.root, interpreter_of(settings), settings.execution.pass_env, wanted)
