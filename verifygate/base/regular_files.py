"""Read what somebody else may have put there: a regular file, of a limited size, and inside the tree it came with.

A pipe has no end until somebody writes, a device has none at all, and a link may lead to a private key. What a name
stands for may change between two questions, so the file is opened first, without waiting, and it is the descriptor
that is asked.

    read_regular(root / "conf.yaml", 2 * MIB, tree=root)

Each refusal is an OSError whose `strerror` says why: "cannot be read: it is a named pipe, not a regular file".
"""

from __future__ import annotations

import errno
import os
import stat
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

MIB = 1024 * 1024
MAX_SOURCE_BYTES = 64 * MIB
"""Of a file of the project that is only looked at, or hashed: a larger one is data."""
MAX_KEY_BYTES = MIB
MAX_ANSWER_BYTES = 64 * MIB
"""Of what a process that the gate started may leave for it in one file."""
_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
_AT_ONCE = getattr(os, "O_NONBLOCK", 0)
"""Without it, opening a pipe waits for somebody who writes."""
_KINDS = {stat.S_IFIFO: "a named pipe", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device", stat.S_IFSOCK: "a socket"}


class RefusedError(OSError):
    """What a name stands for is not read: no regular file, one out of the tree, or a larger one than is expected."""


class TooLargeError(RefusedError):
    """A file is longer than what it can be."""


def read_regular(path: str | Path, limit: int, *, tree: str | Path | None = None) -> bytes:
    """The bytes of a regular file of at most `limit`. Raises OSError.

    With `tree`, the folder that a project came in, the file has to lie there, or in the repository around it.
    """
    with open_regular(path, tree=tree) as file:
        return _whole(file, path, limit)


def open_regular(path: str | Path, *, tree: str | Path | None = None) -> BinaryIO:
    """A regular file, open to be read in pieces: whoever reads it keeps to a limit. Raises OSError."""
    return _opened(path, _AT_ONCE, tree, stat.S_IFREG)


def read_argument(path: str | Path, limit: int) -> bytes:
    """The bytes of what the user named on the command line: a regular file, or a pipe such as `<(...)`.

    Raises OSError. A pipe can be read only once.
    """
    is_pipe = stat.S_ISFIFO(os.stat(path).st_mode)  # noqa: PTH116 - text, mostly
    with _opened(path, 0 if is_pipe else _AT_ONCE, None, stat.S_IFREG, stat.S_IFIFO) as file:
        return _whole(file, path, limit)


def copy_or_link(source: Path, target: Path) -> None:
    """Put a copy of a regular file at `target`; of anything else, a link to it. Raises OSError."""
    target.unlink(missing_ok=True)
    try:
        data = read_regular(source, MAX_SOURCE_BYTES)
    except (RefusedError, FileNotFoundError):
        target.symlink_to(source)
    else:
        target.write_bytes(data)


def repository_of(folder: str) -> str:
    """The nearest folder with a `.git`, from a real one upwards; empty where there is none."""
    top = folder
    while not os.path.lexists(os.path.join(top, ".git")):  # noqa: PTH118 - asked before every commit: text is enough
        parent = os.path.dirname(top)  # noqa: PTH120
        if parent == top:
            return ""
        top = parent
    return top


def _opened(path: str | Path, mode: int, tree: str | Path | None, *kinds: int) -> BinaryIO:
    try:
        handle = os.open(path, _FLAGS | mode)
    except OSError as error:
        if error.errno == errno.ENXIO:  # a socket cannot be opened
            raise _refusal(stat.S_IFMT(os.stat(path).st_mode), path) from None  # noqa: PTH116
        raise
    try:
        kind = stat.S_IFMT(os.fstat(handle).st_mode)
        if kind not in kinds:
            raise _refusal(kind, path)
        if tree is not None and not _lies_in(_tree(str(tree)), handle, path):
            raise RefusedError(errno.EPERM, "it is a link that leads out of the tree", str(path))
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def _refusal(kind: int, path: str | Path) -> OSError:
    if kind == stat.S_IFDIR:
        return IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    return RefusedError(errno.EINVAL, f"it is {_KINDS.get(kind, 'something')}, not a regular file", str(path))


def _whole(file: BinaryIO, path: str | Path, limit: int) -> bytes:
    expected = min(os.fstat(file.fileno()).st_size, limit)
    data = file.read(expected + 1)  # as much memory is taken as is asked for
    if expected < len(data) <= limit:  # a pipe, or a file that grew
        data += file.read(limit + 1 - len(data))
    if len(data) > limit:
        size = f"{limit // MIB} MiB" if limit >= MIB else f"{limit // 1024} KiB"
        raise TooLargeError(errno.EFBIG, f"it is larger than {size}", str(path))
    return data


@lru_cache(maxsize=32)
def _tree(folder: str) -> str:
    """The real place of a tree: the repository around a folder, or the folder itself."""
    real = os.path.realpath(folder)
    return repository_of(real) or real


def _lies_in(tree: str, handle: int, path: str | Path) -> bool:
    """Whether an open file lies below a real folder: asked of the descriptor where the system can tell."""
    try:
        place = os.readlink(f"/proc/self/fd/{handle}")  # noqa: PTH115 - asked of every file
    except OSError:
        place = os.path.realpath(path)
        there, here = os.stat(place), os.fstat(handle)  # noqa: PTH116
        if (there.st_dev, there.st_ino) != (here.st_dev, here.st_ino):
            return False
    return place.startswith(tree if tree.endswith(os.sep) else f"{tree}{os.sep}")
