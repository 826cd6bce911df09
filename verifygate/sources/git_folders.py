"""Find a repository by its files, without asking git: where its own folders are, and what they hold is never obeyed."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO, NamedTuple

from verifygate.base.regular_files import open_regular, read_regular

LARGEST = 16 * 1024 * 1024
"""Bytes of a file of git's own that are read; a larger one counts as missing."""


class Repository(NamedTuple):
    """A repository, by its folders."""

    top: Path | None
    """The root of the working tree; None for a bare one."""
    own: Path
    """What belongs to this working tree: HEAD, the index."""
    common: Path
    """What all working trees of it share: configuration, refs, objects. Mostly the same folder."""
    tree: Path
    """The project that it is, or is a submodule of: no program from there is started."""


def repository_of(folder: Path) -> Repository | None:
    """The repository that a folder is in: the nearest `.git` at or above it. Neither variables nor settings count."""
    here = Path(os.path.realpath(folder))
    for top in (here, *here.parents):
        if (own := _git_folder(top / ".git")) is not None:
            return Repository(top, own, common_of(own), top)
    return None


def bare_repository(folder: Path) -> Repository | None:
    """The repository whose own folder this is: only for a caller who was given it as one."""
    return Repository(None, folder, folder, folder) if _is_git_folder(folder) else None


def submodule_at(repository: Repository, top: Path) -> Repository | None:
    """The submodule that is checked out in a folder."""
    own = _git_folder(top / ".git")
    return Repository(top, own, common_of(own), repository.tree) if own is not None else None


def is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return False


def opened_file(path: Path) -> BinaryIO | None:
    """A regular file, links followed, open to be read; None where there is none. Waits for nobody who writes."""
    try:
        return open_regular(path)
    except OSError:
        return None


def text_of(path: Path) -> bytes | None:
    """The bytes of a regular file; None where there is none, or it is too large."""
    try:
        return read_regular(path, LARGEST)
    except OSError:
        return None


def common_of(own: Path) -> Path:
    """The folder that a working tree's own one names in `commondir`; without that, the same."""
    named = (text_of(own / "commondir") or b"").strip()
    return Path(os.path.realpath(own / os.fsdecode(named))) if named else own


def _git_folder(entry: Path) -> Path | None:
    """What a `.git` stands for: itself, or the folder that it names."""
    if entry.is_dir():
        return Path(os.path.realpath(entry)) if _is_git_folder(entry) else None
    word, _, named = (text_of(entry) or b"").partition(b":")
    if word != b"gitdir" or b"\0" in named:
        return None
    found = Path(os.path.realpath(entry.parent / os.fsdecode(named.strip())))
    return found if _is_git_folder(found) else None


def _is_git_folder(folder: Path) -> bool:
    if not os.path.lexists(folder / "HEAD"):
        return False
    common = common_of(folder)
    return (common / "objects").is_dir() and (common / "refs").is_dir()
