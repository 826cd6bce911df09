"""Answers that `check` has given before: the same question about the same files gets the same bytes at once.

The analysis looks at the program as a whole, so a change in one file may change findings in another. An answer is
therefore kept under a digest of everything that can have a part in it: each file with its path, the question (format
and rules asked for), the configuration, this program's own files, the interpreter, and the names and versions of the
installed packages. Any difference is another key, and a key that is not known is worked out anew.

It lies with the user and not in the audited tree: a tree must not bring its own verdict. Whatever is not exactly what
was written (cut short, changed, of another key, in a folder that others may write to) is as good as absent.
"""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from verifygate.base.cache_folder import VARIABLE, cache_folder  # noqa: F401 — its other name
from verifygate.base.digests import digest_of
from verifygate.base.regular_files import MAX_ANSWER_BYTES, read_regular
from verifygate.sources.tree import Sources

MAX_ANSWERS = 300
_FORM = "verifygate answer 4"


class CheckOutput(NamedTuple):
    """The texts that a command made, one for each output that was asked for, and its exit code."""

    out: tuple[str, ...]
    code: int
    lost: tuple[str, ...] = ()
    """A line on stderr for each file that could not be analysed."""
    keeps: bool = True
    """Whether the same question has the same answer: not where something broke, for want of memory maybe."""


def key_of(question: Iterable[str], sources: Sources, program: str = "") -> str:
    """The digest of everything that an answer depends on. `program` is that of the program, where it is known."""
    import hashlib  # a check that keeps no answer loads neither this nor json

    whole = hashlib.sha256()
    files = (f"{file.path}\0{file.digest}\0{file.twin}" for file in sources)
    unreadable = (f"{path}\0{reason}" for path, reason in sources.unreadable)
    beside = (file.stamp for file in sources.configuration)
    for part in (
        program or program_digest(),
        *question,
        "files",
        *files,
        "unreadable",
        *unreadable,
        "left out",
        repr(sources.left_out),
        "configuration",
        *beside,
    ):
        data = part.encode("utf-8", "surrogateescape")
        whole.update(b"%d\0%s" % (len(data), data))
    return whole.hexdigest()


def program_digest() -> str:
    """The digest of what this program is."""
    return digest_of("\0".join(_program()))


def _program() -> Iterator[str]:
    """What this program is: its source, the interpreter that runs it and parses with it, the packages beside it."""
    yield _FORM
    yield sys.version
    yield from sorted(_sources(Path(__file__).parent.parent))
    for folder in sys.path:
        if os.path.isdir(folder):  # noqa: PTH112 - there are many, and this is asked before every answer
            yield from sorted(name for name in os.listdir(folder) if name.endswith(".dist-info"))  # noqa: PTH208


def _sources(folder: str | Path) -> Iterator[str]:
    """Path, size and times of each file of the program: Python goes by less when it runs a file's earlier bytecode."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False) and entry.name != "__pycache__":
                yield from _sources(entry.path)
            elif entry.name.endswith(".py"):
                status = entry.stat()
                yield f"{entry.path}\0{status.st_size}\0{status.st_mtime_ns}\0{status.st_ctime_ns}"


def recall(key: str, shelf: str = "") -> CheckOutput | None:
    """The answer that was kept under a key; None where there is none that can be trusted.

    A command with many answers keeps them on a `shelf` of its own, a folder beside those of `check`.
    """
    import json

    folder = _folder(shelf)
    if folder is None or not _is_own(folder):
        return None
    file = folder / f"{key}.json"
    try:
        if not _is_own(file):
            return None
        kept = json.loads(read_regular(file, MAX_ANSWER_BYTES))
        found = CheckOutput(tuple(kept["out"]), kept["code"], tuple(kept["lost"]))
        if kept != _record(key, found) or found.code not in (0, 1, 2):
            return None
        os.utime(file)  # those that are asked for stay longest
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return found


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
