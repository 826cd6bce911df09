"""Where git keeps what it knows of a tree."""

from __future__ import annotations

from pathlib import Path


def git_folders(root: Path) -> list[Path]:
    """The `.git` of the repository that a folder is in, and the folders that a file of that name leads to."""
    for folder in (root, *root.parents):
        place = folder / ".git"
        if place.is_dir():
            return [place]
        if place.is_file():
            return [place, *_led_to(place)]
    return []


def _led_to(file: Path) -> list[Path]:
    """The folder of a worktree or submodule, and the one that it has in common with others."""
    own = _named(file, file.parent, "gitdir:")
    common = _named(own / "commondir", own, "") if own else None
    return [folder for folder in (own, common) if folder is not None and folder.is_dir()]


def _named(file: Path, base: Path, prefix: str) -> Path | None:
    try:
        text = file.read_text(encoding="utf-8", errors="surrogateescape").strip()
    except OSError:
        return None
    return (base / text.removeprefix(prefix).strip()).resolve() if text.startswith(prefix) else None
