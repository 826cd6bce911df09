"""The versions of torch and of training frameworks that a tree allows, folder by folder.

Of a file, the nearest folder above it that names a package says which versions, up to the root of the repository. So a
package of a monorepo has its own, whoever asks about it, and from where.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from verifygate.base.counts import counted
from verifygate.base.regular_files import repository_of
from verifygate.config.version_pins import TORCH, FolderFiles, ProjectFiles, allowed_versions

Versions = Mapping[str, str]
"""Package -> the versions of it that are allowed, as `allowed_versions` writes them."""
_NONE: Versions = MappingProxyType({})


class TreeVersions(NamedTuple):
    """What each file of a tree is allowed to run on."""

    by_folder: Mapping[str, Versions] = MappingProxyType({})
    """Folder, relative to the root of the sources; only where it says something else than the folder around it."""
    torch: tuple[str, ...] = ()
    """The versions of torch of all files, each once; one is empty where nothing is said of some file's."""

    def of(self, path: str) -> Versions:
        """The versions that one file of the tree is allowed to run on."""
        return _nearest(posixpath.dirname(path), self.by_folder)


def versions_of_tree(
    paths: Iterable[str], root: Path, files_in: Callable[[Path], ProjectFiles] = FolderFiles
) -> TreeVersions:
    """The versions for files at these paths, relative to `root`; `files_in` gives the files of a repository."""
    folders, by_folder, torch = _Folders(root.resolve(), files_in), dict[str, Versions](), set()
    for folder in sorted({posixpath.dirname(path) for path in paths}):  # each behind those around it
        found = folders.of(folder)
        torch.add(found.get(TORCH, ""))
        if found != _nearest(folder, by_folder) or posixpath.isabs(folder) or folder.startswith(".."):
            by_folder[folder] = found
    return TreeVersions(by_folder, tuple(sorted(torch)))


def altered_versions(before: TreeVersions, after: TreeVersions, paths: Iterable[str]) -> tuple[str, ...]:
    """What files are allowed to run on otherwise than before: `torch in src: >=2.5 -> 1.12`, each with one folder."""
    folders: dict[tuple[str, str, str], list[str]] = {}
    for folder in sorted({posixpath.dirname(path) for path in paths}):
        was, now = (each.of(posixpath.join(folder, "file")) for each in (before, after))
        for package in sorted(was.keys() | now.keys()):
            if was.get(package) != now.get(package):
                change = (package, was.get(package, "any"), now.get(package, "any"))
                folders.setdefault(change, []).append(folder or "the root")
    lines = []
    for (package, old, new), where in folders.items():
        more = f" and {counted(len(where) - 1, 'more folder')}" if where[1:] else ""
        lines.append(f"{package} in {where[0]}{more}: {old} -> {new}")
    return tuple(lines)


def _nearest(folder: str, by_folder: Mapping[str, Versions]) -> Versions:
    while folder not in by_folder and folder.strip("/"):
        folder = posixpath.dirname(folder)
    return by_folder.get(folder, _NONE)


class _Folders:
    """What each folder says, and what the folders around it say of packages that it does not name."""

    def __init__(self, root: Path, files_in: Callable[[Path], ProjectFiles]) -> None:
        self._root = root
        self._files_in = files_in
        self._files: dict[Path, ProjectFiles] = {}
        self._known: dict[Path, Versions] = {}

    def of(self, folder: str) -> Versions:
        place = Path(os.path.normpath(self._root / folder))
        return self._of(place, self._top(place))

    def _of(self, place: Path, top: Path) -> Versions:
        if place not in self._known:
            around = _NONE if place == top else self._of(place.parent, top)
            if top not in self._files:
                self._files[top] = self._files_in(top)
            inside = place.relative_to(top).as_posix()
            own = allowed_versions(self._files[top], "" if inside == "." else inside)
            self._known[place] = {**around, **own} if own else around
        return self._known[place]

    def _top(self, place: Path) -> Path:
        """The repository that a folder belongs to; without one the root of the sources, or the folder itself."""
        if repository := repository_of(str(place)):
            return Path(repository)
        return self._root if place.is_relative_to(self._root) else place
