"""Unpack what the analysis reads of an archive: Python sources, and the files in which a project pins its torch."""

from __future__ import annotations

import contextlib
import tarfile
import tempfile
import zipfile
from pathlib import Path, PurePosixPath

from verifygate.base.errors import UsageError

WANTED = (".py", ".toml", ".cfg", ".txt", ".yml", ".yaml", ".lock")
_LARGEST = 4 << 20
"""Bytes of a file above which it is data."""


def unpack(archive: Path, target: Path) -> None:
    """Unpack the wanted files of a source distribution or wheel below `target`, a new folder. Raises UsageError.

    A source distribution's one outer folder is left out. The folder appears whole or not at all.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".unpack-") as name:
        folder = Path(name, "tree")
        folder.mkdir()
        try:
            if zipfile.is_zipfile(archive):
                _unpack_zip(archive, folder)
            else:
                with tarfile.open(archive) as packed:
                    packed.extractall(folder, filter=_wanted_member)  # noqa: S202 - it ends in tarfile's own filter
        except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError) as error:
            raise UsageError(f"cannot be unpacked: {error}", where=archive.name) from None
        inner = list(folder.iterdir())
        whole = inner[0] if len(inner) == 1 and inner[0].is_dir() and not archive.name.endswith(".whl") else folder
        with contextlib.suppress(OSError):  # another run was faster
            whole.rename(target)


def _wanted_member(member: tarfile.TarInfo, folder: str) -> tarfile.TarInfo | None:
    if not (member.isfile() and member.name.endswith(WANTED) and member.size <= _LARGEST):
        return None
    return tarfile.data_filter(member, folder)


def _unpack_zip(archive: Path, folder: Path) -> None:
    with zipfile.ZipFile(archive) as packed:
        for entry in packed.infolist():
            parts = PurePosixPath(entry.filename).parts
            if not entry.filename.endswith(WANTED) or entry.file_size > _LARGEST or ".." in parts:
                continue
            packed.extract(entry, folder)
