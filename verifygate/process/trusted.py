"""What the gate trusts and the code that it judges must not change: what the gate is started from, and what git obeys.

Confined processes are kept from it (`own_folders.py`). Where they are not, it is looked at before and after the run.
"""

from __future__ import annotations

import functools
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import verifygate
from verifygate.base.cache_folder import cache_folder
from verifygate.sources.git_state import git_folders

_LIBRARIES = ("lib", "lib64", "Lib")
"""Folders of an environment; Python's own parts are on the module path as well."""
_OF_ENVIRONMENT = ("bin", "Scripts", "libexec", "pyvenv.cfg", *_LIBRARIES)
State = Mapping[str, object]
"""What identifies each file, by its path."""


@functools.cache
def trusted_places(root: Path) -> tuple[Path, ...]:
    """Files and folders, wherever they lie, but those that the project lies in.

    They are the gate's interpreter, packages and own code, its cache, the folders in which programs are looked for,
    and where git keeps what it knows of the tree.
    """
    prefixes = dict.fromkeys((sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix))
    places = [Path(prefix, name) for prefix in prefixes for name in _OF_ENVIRONMENT]
    places += [Path(verifygate.__file__).parent, Path(sys.executable), Path(sys.argv[0]).absolute()]
    places += map(Path, filter(None, (*sys.path, *os.get_exec_path())))
    places += [*filter(None, [cache_folder()]), *git_folders(root)]
    real = root.resolve()
    there = (place for place in places if place.is_absolute() and place.exists())
    return tuple(dict.fromkeys(place for place in there if not real.is_relative_to(place.resolve())))


def state_of(root: Path, *, whole: bool) -> State:
    """How what is trusted is now: with `whole` each file of it, else what no mount keeps as it is.

    That is what is not there yet, and links in the tree on the way to a trusted place. A link in its place is another
    one. Bytecode that comes is not looked at: the interpreter writes it.
    """
    found: dict[str, object] = {str(place): os.path.lexists(place) for place in _absent(root)}
    places = trusted_places(root)
    links = (link for place in places for link in (place, *place.parents) if link.is_relative_to(root))
    found |= {str(link): str(link.readlink()) for link in links if link.is_symlink()}
    if whole:
        for place in outermost(place for place in places if place.name not in _LIBRARIES):
            found |= _files_below(place)
    return found


def outermost(places: Iterable[Path]) -> list[Path]:
    """Each file of theirs is in one of these."""
    kept: list[Path] = []
    for place in sorted(places, key=lambda place: len(place.parts)):
        if not any(place.is_relative_to(outer) for outer in kept):
            kept.append(place)
    return kept


def _absent(root: Path) -> Iterator[Path]:
    """Places in the tree that would be trusted if something lay there."""
    yield root / ".git"
    yield from (place for place in map(Path, os.get_exec_path()) if place.is_relative_to(root))


def changed(before: State, after: State) -> list[str]:
    """Paths that are not as they were."""
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


def _files_below(place: Path) -> dict[str, object]:
    """Of the files of git, those that it obeys."""
    if not place.is_dir():
        return {str(place): _identity(place.stat())}
    if (place / "HEAD").is_file() and (place / "objects").is_dir():
        return _of_folders(place / name for name in ("config", "config.worktree", "hooks", "info"))
    return _of_folders([place])


def _of_folders(pending: Iterable[Path]) -> dict[str, object]:
    found: dict[str, object] = {}
    waiting = [str(place) for place in pending]
    while waiting:
        place = waiting.pop()
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    status = entry.stat(follow_symlinks=False)
                    if not stat.S_ISDIR(status.st_mode):
                        found[entry.path] = _identity(status)
                    elif entry.name != "__pycache__":
                        waiting.append(entry.path)
        except NotADirectoryError:
            found[place] = _identity(os.lstat(place))
        except OSError:
            found[place] = None
    return found


def _identity(status: os.stat_result) -> tuple[int, ...]:
    return (status.st_ino, status.st_size, status.st_mode, status.st_mtime_ns, status.st_ctime_ns)
