"""Find the configuration file. What is in it is config.py's; this loads nothing, so that asking is quick."""

from __future__ import annotations

from pathlib import Path

CONFIG_NAME = "verifygate.toml"


def lies_in(root: Path, path: str) -> bool:
    """Whether what a configuration names is there, and part of the project."""
    return (root / path).exists() and (root / path).resolve().is_relative_to(root.resolve())


def find(start: Path) -> Path | None:
    """The nearest `verifygate.toml`, or pyproject.toml with `[tool.verifygate]`, in `start` or a folder above."""
    for folder in (start.resolve(), *start.resolve().parents):
        if (own := folder / CONFIG_NAME).is_file():
            return own
        shared = folder / "pyproject.toml"
        if shared.is_file() and b"[tool.verifygate" in shared.read_bytes():
            return shared
        if (folder / ".git").exists():
            return None
    return None
