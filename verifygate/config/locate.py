"""Find the configuration file. What is in it is config.py's; this loads nothing, so that asking is quick."""

from __future__ import annotations

from pathlib import Path

from verifygate.base.errors import UsageError
from verifygate.base.regular_files import MAX_SOURCE_BYTES, read_regular

CONFIG_NAME = "verifygate.toml"


def lies_in(root: Path, path: str) -> bool:
    """Whether what a configuration names is there, and part of the project."""
    return (root / path).exists() and (root / path).resolve().is_relative_to(root.resolve())


def find(start: Path) -> Path | None:
    """The nearest `verifygate.toml`, or pyproject.toml with `[tool.verifygate]`, in `start` or a folder above.

    Raises UsageError where the name stands for something that is no file.
    """
    for folder in (start.resolve(), *start.resolve().parents):
        own = folder / CONFIG_NAME
        if own.is_file():
            _text(own)
            return own
        if own.exists() or own.is_symlink():  # left out, rules would be judged by defaults that nobody chose
            raise UsageError("not a file", where=CONFIG_NAME, remedy="make it a file, or remove it")
        shared = folder / "pyproject.toml"
        if shared.is_file() and b"[tool.verifygate" in _text(shared):
            return shared
        if (folder / ".git").exists():
            return None
    return None


def _text(file: Path) -> bytes:
    """The bytes of a configuration that came with a tree, and has to lie in it. Raises UsageError."""
    try:
        return read_regular(file, MAX_SOURCE_BYTES, tree=file.parent)
    except OSError as error:
        remedy = "make it a file of the project, or name another one with `--config`"
        raise UsageError(f"cannot be read: {error.strerror}", where=file.name, remedy=remedy) from None
