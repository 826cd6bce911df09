"""Put the files of a report on disk so that a reader never sees half of one.

The files are written into a new folder beside the old one, and the two are swapped by renaming. A run that is killed
before the swap leaves the earlier report as it was. (Between the two renames of the swap, for some microseconds, there
is no report under the name; a missing report is safe, half of one is not.)

Whatever lies in the folder must be ours: files of an earlier report go, and where there is a file that no report ever
has, nothing is written at all. So a slip such as `--report-dir src` costs a message and not the sources.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from verifygate.base.errors import UsageError
from verifygate.base.owned_folders import abandoned, owned, remove, sweep, unused_name
from verifygate.report.formats import files_of, run_formats

IGNORE = ".gitignore"
EVERYTHING = "*\n"
"""In such a file: what lies beside it, and it itself, is nothing for git to keep."""
EARLIER = "old"
"""Name of the earlier report in the temporary folder, while the two are swapped."""
ATTEMPTS = 100
"""How often another run may come between the two renames of a swap."""


def write_reports(files: Mapping[str, str], folder: Path, *, ignored: bool = False) -> None:
    """Make `folder` hold exactly these files. Raises UsageError, and leaves what was there, when it cannot.

    `ignored`: git is told to keep nothing of it; a folder where it was told so before stays one.
    """
    folder = folder.absolute()
    _refuse_foreign(folder)
    if ignored or (folder / IGNORE).exists():
        files = {**files, IGNORE: EVERYTHING}
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _beside(folder) as aside:
            fresh = aside / "new"
            fresh.mkdir()
            fresh.chmod(0o755)
            for name, content in sorted(files.items()):
                _write(fresh / name, content)
            _swap(fresh, folder, aside)
    except OSError as error:
        raise UsageError(
            f"the report cannot be written: {error.strerror or type(error).__name__}",
            where=_shown(folder),
            remedy="the earlier report, if any, is as it was; name another folder with --report-dir",
        ) from error


def write_file(path: Path, content: str) -> None:
    """Put one file in its place, whole or not at all. Raises UsageError, and leaves what was there, when it cannot."""
    path = path.absolute()
    if path.is_dir():
        raise UsageError("is a folder", where=_shown(path), remedy="name a file with --output")
    fresh: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
        os.close(handle)
        fresh = Path(name)
        _write(fresh, content)
        fresh.chmod(0o644)
        fresh.replace(path)
    except OSError as error:
        if fresh is not None:
            fresh.unlink(missing_ok=True)
        raise UsageError(
            f"cannot be written: {error.strerror or type(error).__name__}",
            where=_shown(path),
            remedy="name another file with --output",
        ) from error


def refuse_unusable(folder: Path) -> None:
    """Raises UsageError where the report could not be written there: ask before an hour of work."""
    folder = folder.absolute()
    _refuse_foreign(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _beside(folder):
            pass
    except OSError as error:
        raise UsageError(
            f"no report can be written there: {error.strerror or type(error).__name__}",
            where=_shown(folder),
            remedy="name another folder with --report-dir",
        ) from error


def _refuse_foreign(folder: Path) -> None:
    """A folder that we would replace may hold nothing but reports."""
    try:
        if not stat.S_ISDIR(folder.lstat().st_mode):
            raise UsageError("not a folder", where=_shown(folder), remedy="name a folder with --report-dir")
        names = sorted(entry.name for entry in folder.iterdir() if not _ignores_all(entry))
    except (FileNotFoundError, NotADirectoryError):  # there is none, or another run is just replacing it
        names = []
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=_shown(folder)) from error
    ours = {name for format in run_formats() for name in files_of(format)}  # noqa: A001 - the option's name
    if foreign := [name for name in names if name not in ours]:
        raise UsageError(
            f"holds `{foreign[0]}`, which is not part of a report, and the whole folder would be replaced",
            where=_shown(folder),
            remedy="move it away, or name another folder with --report-dir",
        )


def _ignores_all(file: Path) -> bool:
    return file.name == IGNORE and file.is_file() and file.stat().st_size == len(EVERYTHING)


def _write(path: Path, content: str) -> None:
    """Write and make sure it is on the disk: a rename that survives a crash must not name an empty file."""
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


@contextlib.contextmanager
def _beside(folder: Path) -> Iterator[Path]:
    """A temporary folder on the same file system. What killed runs left there goes, but for a report that has no other
    place: such a run was killed between the two renames.
    """
    prefix = f".{folder.name}-"
    for left in abandoned(folder.parent, prefix):
        if (left / EARLIER).is_dir() and not folder.exists():
            (left / EARLIER).rename(folder)
    sweep(folder.parent, prefix)
    aside = unused_name(folder.parent, prefix)
    with owned(aside):
        yield aside


def _swap(fresh: Path, folder: Path, aside: Path) -> None:
    """Put `fresh` in the place of `folder`; put the old one back if that fails.

    Another run may put its own report there meanwhile. The last one to come is the one that stays.
    """
    old = aside / EARLIER
    try:
        for attempt in range(ATTEMPTS):
            with contextlib.suppress(FileNotFoundError):  # there is none, or the other run has moved it
                folder.rename(old)
            try:
                fresh.rename(folder)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST) or attempt + 1 == ATTEMPTS:
                    raise
                remove(old)
            else:
                return
    except BaseException:  # also where a signal comes between the two
        if old.is_dir() and not folder.exists():
            old.rename(folder)
        raise


def _shown(folder: Path) -> str:
    """The folder as a person in the working directory would type it."""
    relative = os.path.relpath(folder)
    return folder.as_posix() if relative.startswith("..") else Path(relative).as_posix()
