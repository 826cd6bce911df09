"""Temporary folders whose owner can be told alive from dead, so that a later run removes what a killed one left.

The owner holds an advisory lock (flock) on the folder itself. The system lets go of it when the process ends, however
it ends. A process id would not do: it can have passed to another process, and says nothing in another container.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

PREFIX = "verifygate-"
"""How the names of all temporary folders of the gate begin that lie where temporary files go."""
ATTEMPTS = 3
_ENDING = r"(?:[a-z]+-)?[0-9a-f]{16}"
_swept: set[tuple[Path, str]] = set()
"""Where this process has looked for what dead owners left: once is enough."""


def temporary_name(kind: str = "", *, place: str | None = None) -> Path:
    """A name for a temporary folder that nothing has yet: `/tmp/verifygate-mutants-0123456789abcdef`."""
    return unused_name(Path(place or tempfile.gettempdir()), f"{PREFIX}{kind}-" if kind else PREFIX)


def unused_name(place: Path, prefix: str) -> Path:
    """A name in `place` that nothing has yet, and that no person gives to a folder."""
    return place / f"{prefix}{secrets.token_hex(8)}"


@contextlib.contextmanager
def owned(folder: Path) -> Iterator[None]:
    """While this lasts, the folder is there and locked; at the end it is removed, and what resists stays.

    Raises OSError where it cannot be made.
    """
    lock = None
    try:
        lock = _make(folder)
        yield
    finally:
        remove(folder)
        if lock is not None:
            os.close(lock)


def sweep(place: Path | None = None, prefix: str = PREFIX) -> None:
    """Remove what dead owners left in `place` (where temporary files go); say on standard error what resists.

    It is done once in the life of a process.
    """
    place = place or Path(tempfile.gettempdir())
    if (place, prefix) in _swept:
        return
    _swept.add((place, prefix))
    for folder in abandoned(place, prefix):
        if reason := remove(folder):
            shown = os.fsencode(folder).decode("utf-8", "backslashreplace")
            told = f"verifygate: {shown}: a killed run left it, and it cannot be removed: {reason}; remove it by hand"
            print(told, file=sys.stderr)


def abandoned(place: Path, prefix: str) -> Iterator[Path]:
    """The folders in `place` with such a name that are this user's and whose owner is dead.

    Each is locked while the caller has it, so no other run takes it as well. A link is none of them.
    """
    try:
        named = sorted(path for path in place.iterdir() if re.fullmatch(re.escape(prefix) + _ENDING, path.name))
    except OSError:
        return
    for folder in named:
        try:
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:  # it is gone, a link, no folder, or somebody else's
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(lock).st_uid == os.geteuid() and _is_at(folder, lock):
                yield folder
        except OSError:  # its owner lives, or the file system knows no locks
            continue
        finally:
            os.close(lock)


def remove(folder: Path) -> str:
    """Remove the folder and what is in it, links as links. Returns why it could not be, or the empty string."""
    reason = ""
    for _ in range(ATTEMPTS):
        if not os.path.lexists(folder):
            return ""
        try:
            shutil.rmtree(folder)
        except OSError as error:  # a folder without permission to change it, or a process that still writes
            reason = error.strerror or type(error).__name__
            _permit(folder)
    shutil.rmtree(folder, ignore_errors=True)
    return reason if os.path.lexists(folder) else ""


def _make(folder: Path) -> int | None:
    """Make and lock the folder; None where the file system knows no locks: then no sweep can lock it either."""
    while True:
        folder.mkdir(0o700)
        try:
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except FileNotFoundError:  # a sweep took it before it was locked
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
        except OSError:
            os.close(lock)
            return None
        if _is_at(folder, lock):
            return lock
        os.close(lock)


def _is_at(folder: Path, handle: int) -> bool:
    try:
        return os.path.samestat(os.lstat(folder), os.fstat(handle))
    except FileNotFoundError:
        return False


def _permit(folder: Path) -> None:
    """Let the owner change every folder in it: tests take that permission away."""
    if folder.is_symlink():
        return
    with contextlib.suppress(OSError):
        folder.chmod(0o700)
        for place, names, _ in os.walk(folder):
            for path in (Path(place, name) for name in names):
                if not path.is_symlink():
                    path.chmod(0o700)
