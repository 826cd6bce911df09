"""Compare the files of a working tree with those of a commit by their bytes: no filter runs, and no index is believed.

What a right checkout may differ in is no difference: line ends of text (`core.autocrlf`, `eol`), the permission to
execute, the content that stands for a pointer of git-lfs, and what a sparse checkout leaves out.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePath
from typing import NamedTuple

from verifygate.base.errors import UsageError
from verifygate.base.owned_folders import owned, temporary_name
from verifygate.base.regular_files import RefusedError, open_regular
from verifygate.sources.git_folders import LARGEST, Repository, opened_file, submodule_at, text_of
from verifygate.sources.git_objects import LINK, SUBMODULE, Entry, digest_of, opened, sizes
from verifygate.sources.git_process import ask

_POINTER = rb"version https://git-lfs\.github\.com/spec/v1\noid sha256:([0-9a-f]{64})\n"
_IGNORE_FILE = ".gitignore"
_BY_IGNORE_FILES = "--exclude-standard"
LARGEST_POINTER = 1024
LARGEST_RENAMED = 1024 * 1024
"""A larger file is not looked for under another name."""


class Difference(NamedTuple):
    """What is not as it was in a commit; all paths are relative to the folder that was asked about."""

    changed: tuple[Entry, ...]
    """There, and with other content."""
    gone: tuple[Entry, ...]
    new: tuple[str, ...]
    """Also files that are not added yet, but for those that git is told to ignore."""

    @property
    def paths(self) -> set[str]:
        return {*(each.path for each in (*self.changed, *self.gone)), *self.new}


def difference(
    repository: Repository, folder: Path, tree: str, below: Sequence[str] = (".",), suffix: str = ""
) -> Difference:
    """How the files at or below some paths of a folder differ from those of a tree; of those with a `suffix` alone."""
    with opened(repository) as objects:
        entries = objects.entries(tree, below) if tree else iter(())
        before = {each.path: each for each in entries if each.path.endswith(suffix)}
    now = {path for path in names(repository, folder, below) if path.endswith(suffix)}
    gone = gone_from(repository, folder, before.values())
    is_there = _Folders(folder)
    there = (each for each in before.values() if is_there(each.path))
    odd = [each for each in there if not _is_same(repository, folder / each.path, each)]
    new = sorted(path for path in now - before.keys() if is_there(path))
    return Difference(tuple(_but_pointers(repository, folder, odd)), gone, tuple(new))


def gone_from(repository: Repository, folder: Path, entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Those that are no longer below a folder."""
    is_there = _Folders(folder)
    gone = [each for each in entries if not is_there(each.path) and each.mode != SUBMODULE]
    left_out = _left_out(repository, folder) if gone else set()
    return tuple(each for each in gone if each.path not in left_out)


def renamed(repository: Repository, folder: Path, entries: Sequence[Entry]) -> dict[str, str]:
    """Those of a commit's files that have another path below the folder: old path -> new path.

    They are compared as copies outside of any working tree. Large files and links are left out, and a file that is new
    is compared with those that end alike.
    """
    gone = [each for each in gone_from(repository, folder, entries) if each.mode != LINK]
    known, endings = {each.path for each in entries}, {PurePath(each.path).suffix for each in gone}
    found = set(names(repository, folder, (".",))) - known if gone else set()
    new = sorted(path for path in found if PurePath(path).suffix in endings)
    if not new:
        return {}
    lengths = sizes(repository, [each.name for each in gone])
    gone = [each for each in gone if lengths.get(each.name, LARGEST) <= LARGEST_RENAMED]
    with owned(copies := temporary_name("renames")):
        with opened(repository) as objects:
            for each, data in zip(gone, objects.read([each.name for each in gone]), strict=True):
                _write(copies / "old" / each.path, data)
        for path in new:
            _write(copies / "new" / path, None if (folder / path).is_symlink() else text_of(folder / path))
        options = ("--no-index", "-M", "--diff-filter=R", "--name-status", "-z", "old", "new")
        told = ask(repository, copies, "diff", *options, good=(0, 1)) or b""
    words = told.decode("utf-8", "surrogateescape").split("\0")
    pairs = zip(words[1::3], words[2::3], strict=False)
    return {old.removeprefix("old/"): new.removeprefix("new/") for old, new in pairs}


def _write(place: Path, data: bytes | None) -> None:
    if data is not None and len(data) <= LARGEST_RENAMED:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)


def names(repository: Repository, folder: Path, below: Sequence[str]) -> Iterator[str]:
    """The paths that git keeps, or would keep if they were added, at or below some paths."""
    return listed(repository, folder, "--cached", "--others", _BY_IGNORE_FILES, "--", *below)


def listed(repository: Repository, folder: Path, *options: str) -> Iterator[str]:
    """What `git ls-files` lists. Raises UsageError where it does not answer, or would wait for good."""
    if _BY_IGNORE_FILES in options:
        _refuse_odd_ignore_files(repository, folder)
    found = ask(repository, folder, "ls-files", "-z", *options)
    if found is None:
        raise UsageError("git cannot list the files of the working tree", remedy="`git status` says more")
    return (name for name in found.decode("utf-8", "surrogateescape").split("\0") if name)


def _refuse_odd_ignore_files(repository: Repository, folder: Path) -> None:
    """Raises UsageError where git would open a pipe or a device for its patterns: it waits there for a writer."""
    here = Path(os.path.realpath(folder))
    above = [each for each in here.parents if repository.top is not None and each.is_relative_to(repository.top)]
    for place in (*above, *_folders_with(_IGNORE_FILE, here)):
        try:
            open_regular(place / _IGNORE_FILE).close()
        except RefusedError as error:
            where = os.path.relpath(error.filename, here)
            raise UsageError(
                f"git cannot read its patterns: {error.strerror}", where=where, remedy="remove it"
            ) from None
        except OSError:  # none there, or one that git warns of and leaves
            continue


def _folders_with(name: str, top: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(top):
        folders[:] = [each for each in folders if each != ".git"]
        if name in names:
            yield Path(place)


def pointer_of(blob: bytes) -> str:
    """The digest of the content that a pointer of git-lfs stands for; empty for any other text."""
    found = re.match(_POINTER, blob) if len(blob) <= LARGEST_POINTER else None
    return found[1].decode() if found else ""


def sha256_of(path: Path) -> str:
    """The digest of a regular file; empty for anything else."""
    return _hashed(path, "sha256", b"")[0]


class _Folders:
    """Whether there is something at a path: each folder is listed once, as thousands are asked for."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self._names: dict[str, frozenset[str]] = {}

    def __call__(self, path: str) -> bool:
        folder, _, name = path.rstrip("/").rpartition("/")
        if (names := self._names.get(folder)) is None:
            try:
                names = frozenset(os.listdir(f"{self._root}/{folder}"))  # noqa: PTH208 - names are enough
            except OSError:
                names = frozenset()
            self._names[folder] = names
        return name in names


def _left_out(repository: Repository, folder: Path) -> set[str]:
    """The paths that a sparse checkout leaves out."""
    if text_of(repository.own / "info/sparse-checkout") is None:
        return set()
    return {line[2:] for line in listed(repository, folder, "-t", "--cached") if line.startswith("S ")}


def _is_same(repository: Repository, place: Path, entry: Entry) -> bool:
    if entry.mode == SUBMODULE:
        return _is_as_in(submodule_at(repository, place), place, entry.name)
    if entry.mode == LINK and place.is_symlink():
        return digest_of("blob", os.fsencode(place.readlink()), len(entry.name)) == entry.name
    if place.is_symlink():
        return False
    kind = "sha1" if len(entry.name) == 40 else "sha256"
    digest, size = _hashed(place, kind)
    if digest == entry.name or not 0 < size <= LARGEST:
        return digest == entry.name
    data = text_of(place) or b""
    is_text = b"\r\n" in data and b"\0" not in data
    return is_text and digest_of("blob", data.replace(b"\r\n", b"\n"), len(entry.name)) == entry.name


def _is_as_in(inner: Repository | None, place: Path, commit: str) -> bool:
    """Whether a submodule is not checked out, or as in its commit."""
    if inner is None:
        return True
    with opened(inner) as objects:
        found = objects.commit(commit)
    return found is not None and not difference(inner, place, found.tree).paths


def _but_pointers(repository: Repository, folder: Path, odd: Sequence[Entry]) -> Iterator[Entry]:
    """Those of the differing files that are not the content of the pointer that the commit has in their place."""
    known = sizes(repository, [each.name for each in odd if each.mode != SUBMODULE]) if odd else {}
    small = [each for each in odd if known.get(each.name, LARGEST) <= LARGEST_POINTER]
    stands_for: dict[str, str] = {}
    if small:
        with opened(repository) as objects:
            blobs = objects.read([each.name for each in small])
            stands_for = {each.path: pointer_of(blob or b"") for each, blob in zip(small, blobs, strict=True)}
    for each in odd:
        oid = stands_for.get(each.path)
        if not (oid and sha256_of(folder / each.path) == oid):
            yield each


def _hashed(path: Path, kind: str, head: bytes | None = None) -> tuple[str, int]:
    """The digest of a regular file after git's head of a file, or another, and its size; empty for anything else."""
    file = opened_file(path)
    if file is None:
        return "", 0
    with file:
        size = os.fstat(file.fileno()).st_size
        digest = hashlib.new(kind, usedforsecurity=False)
        digest.update(f"blob {size}\0".encode() if head is None else head)
        while part := file.read(1 << 20):
            digest.update(part)
    return digest.hexdigest(), size
