"""Answers that `check` has given before: the same question about the same files gets the same bytes at once.

The analysis looks at the program as a whole, so a change in one file may change findings in another. An answer is
therefore kept under a digest of everything that can have a part in it: each file with its path, the question (format
and rules asked for), the configuration, this program's own files, the interpreter, and the names and versions of the
installed packages. Any difference is another key, and a key that is not known is worked out anew.

Where they lie, and which are believed: `base/answer_store.py`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from verifygate.base.digests import digest_of
from verifygate.sources.tree import Sources

_FORM = "verifygate answer 4"


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
