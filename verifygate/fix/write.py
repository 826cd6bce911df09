"""Show changed files as a diff, or put them in place."""

from __future__ import annotations

import difflib
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from verifygate.base.errors import UsageError
from verifygate.base.regular_files import MAX_SOURCE_BYTES, read_regular
from verifygate.sources.file import SourceFile


def unified_diff(changed: Iterable[tuple[SourceFile, SourceFile]]) -> bytes:
    """One diff over all files, as `git apply` and `patch -p1` read it, in the bytes of the files."""
    return "".join(row for old, new in changed for row in _diff(old, new)).encode("utf-8", "surrogateescape")


def _diff(old: SourceFile, new: SourceFile) -> Iterable[str]:
    before, after = (_lines(file.data) for file in (old, new))
    path = old.path.lstrip("/")
    for row in difflib.unified_diff(before, after, f"a/{path}", f"b/{path}"):
        yield row if row.endswith("\n") else f"{row}\n\\ No newline at end of file\n"


def _lines(data: bytes) -> list[str]:
    """Lines with their ends; only a line feed ends one, so that the diff shows carriage returns as they are."""
    *whole, last = data.decode("utf-8", "surrogateescape").split("\n")
    return [*(f"{line}\n" for line in whole), *([last] if last else [])]


def write_fixed(changed: Iterable[tuple[SourceFile, SourceFile]], root: Path) -> None:
    """Replace each file in one step, keeping its mode. Raises UsageError for one that changed meanwhile."""
    pairs = list(changed)
    for old, _ in pairs:
        if read_regular(root / old.path, MAX_SOURCE_BYTES) != old.data:
            raise UsageError("the file changed while it was being fixed", where=old.path, remedy="run it again")
    for old, new in pairs:
        try:
            _replace((root / old.path).resolve(), new.data)  # a link stays a link
        except OSError as error:
            raise UsageError(f"cannot be written: {error.strerror}", where=old.path, remedy="check its mode") from error


def _replace(path: Path, data: bytes) -> None:
    mode = path.stat().st_mode
    if not os.access(path, os.W_OK):
        raise PermissionError(13, "the file is read-only")
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(mode & 0o7777)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
