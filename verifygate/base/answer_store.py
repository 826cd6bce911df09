"""Answers that are kept between runs of the gate, each under a digest of all that it rests on.

They lie with the user and not in the audited tree: a tree must not bring its own verdict. Whatever is not exactly what
was written (cut short, changed, of another key, in a folder that others may write to) is as good as absent.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from verifygate.base.cache_folder import cache_folder
from verifygate.base.digests import digest_of
from verifygate.base.regular_files import MAX_ANSWER_BYTES, read_regular

MAX_ANSWERS = 300
RUNS = "runs"
"""The shelf of what runs of the project's programs answered."""
_FORM = "verifygate answer 4"


class CheckOutput(NamedTuple):
    """The texts that a command made, one for each output that was asked for, and its exit code."""

    out: tuple[str, ...]
    code: int
    lost: tuple[str, ...] = ()
    """A line on stderr for each file that could not be analysed."""
    keeps: bool = True
    """Whether the same question has the same answer: not where something broke, for want of memory maybe."""


def recall(key: str, shelf: str = "", doubt: Callable[[str], object] = lambda _why: None) -> CheckOutput | None:
    """The answer that was kept under a key; None where there is none that can be trusted.

    A command with many answers keeps them on a `shelf` of its own, a folder beside those of `check`. `doubt` gets why
    something that is there is not trusted.
    """
    import json

    folder = _folder(shelf)
    if folder is None or not os.path.lexists(folder / f"{key}.json"):
        return None
    file = folder / f"{key}.json"
    try:
        if not (_is_own(folder) and _is_own(file)):
            doubt("others than this user can write it")
            return None
        kept = json.loads(read_regular(file, MAX_ANSWER_BYTES))
        found = CheckOutput(tuple(kept["out"]), kept["code"], tuple(kept["lost"]))
        if kept != _record(key, found) or found.code not in (0, 1, 2):
            doubt("it is damaged, or of another version")
            return None
        os.utime(file)  # those that are asked for stay longest
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        doubt("it cannot be read")
        return None
    return found


def forget(shelf: str) -> None:
    """Drop a shelf with all that is in it, whatever somebody put there and whatever rights they gave it."""
    folder = _folder(shelf)
    if folder is None or not os.path.lexists(folder):
        return
    import shutil

    with contextlib.suppress(OSError):
        if folder.is_symlink():
            folder.unlink()
            return
        folder.chmod(0o700)
        for here, names, _ in os.walk(folder):
            for below in (Path(here, name) for name in names):
                if not below.is_symlink():
                    below.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)


def drop(key: str, shelf: str) -> None:
    """Drop the answer of a key, if there is one."""
    folder = _folder(shelf)
    if folder is not None:
        with contextlib.suppress(OSError):
            (folder / f"{key}.json").unlink(missing_ok=True)


def keep(key: str, output: CheckOutput, shelf: str = "", most: int = 0) -> None:
    """Keep an answer. Where that cannot be, nothing is kept, and nothing is lost but time.

    A shelf has room for `most` answers, or for `MAX_ANSWERS`: those that were not asked for longest make room.
    """
    import json

    folder = _folder(shelf)
    if folder is None:
        return
    try:
        if shelf:
            folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_own(folder):
            return
        _make_room(folder, most or MAX_ANSWERS)
        fresh = folder / f"{key}.{os.getpid()}-{time.monotonic_ns()}.new"
        handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            json.dump(_record(key, output), file)
        fresh.replace(folder / f"{key}.json")
    except OSError:
        return


def _record(key: str, output: CheckOutput) -> dict[str, object]:
    import json

    told: dict[str, object] = {"out": list(output.out), "code": output.code, "lost": list(output.lost)}
    return {"form": _FORM, "key": key, "sum": digest_of(json.dumps([key, *told.values()])), **told}


def _folder(shelf: str = "") -> Path | None:
    """A shelf of the user's cache; None where the user has no home."""
    folder = cache_folder()
    return folder / shelf if folder is not None else None


def _is_own(path: Path) -> bool:
    """Whether nobody but the user can have written it."""
    if sys.platform == "win32":
        return path.exists()
    try:
        status = path.lstat()
    except OSError:
        return False
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _make_room(folder: Path, most: int) -> None:
    """Drop what was not asked for longest, down to the number of answers that are kept."""
    names = [name for name in os.listdir(folder) if name.endswith(".json")]  # noqa: PTH208 - asked before every answer
    if len(names) < most:
        return
    kept = sorted((folder / name for name in names), key=lambda file: file.stat().st_mtime)
    for file in kept[: len(kept) - most + 1]:
        file.unlink(missing_ok=True)
