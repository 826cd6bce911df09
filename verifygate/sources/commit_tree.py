"""The files of a commit below a folder, each read when it is asked for."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from verifygate.base.regular_files import MAX_SOURCE_BYTES
from verifygate.sources.git import place_of
from verifygate.sources.git_objects import LINK, SUBMODULE, Entry, opened, sizes

_MOST_LINKS = 40
"""That one path leads through: what the kernel follows."""


class CommitTree:
    """What a commit holds below a folder; nothing where git cannot say. Paths are relative to the folder."""

    def __init__(self, folder: Path, commit: str) -> None:
        self._place = place_of(folder)
        self._commit = commit

    @cached_property
    def _entries(self) -> dict[str, Entry]:
        if self._place is None:
            return {}
        with opened(self._place.repository) as objects:
            tree = self._place.tree(objects, self._commit)
            return {each.path: each for each in objects.entries(tree) if each.mode != SUBMODULE} if tree else {}

    @cached_property
    def _names(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in sorted(self._entries):
            found.setdefault(posixpath.dirname(path), []).append(posixpath.basename(path))
        return found

    def names(self, folder: str) -> Sequence[str]:
        """The names of the files in a folder, sorted."""
        return self._names.get(folder, ())

    def home(self, path: str) -> str:
        """The file that a path leads to, through links to files; empty where the commit has none there."""
        for _ in range(_MOST_LINKS):
            path = posixpath.normpath(path)
            entry = self._entries.get(path)
            if entry is None or entry.mode != LINK:
                return path if entry is not None else ""
            path = posixpath.join(posixpath.dirname(path), os.fsdecode(self._bytes(entry) or b""))
        return ""

    def read(self, path: str) -> bytes | None:
        """The bytes of a file; None where there is none, where it is too large, or where the store lacks it."""
        entry = self._entries.get(self.home(path))
        return self._bytes(entry) if entry is not None else None

    def _bytes(self, entry: Entry) -> bytes | None:
        if self._place is None or sizes(self._place.repository, [entry.name]).get(entry.name, 0) > MAX_SOURCE_BYTES:
            return None
        with opened(self._place.repository) as objects:
            return next(objects.read([entry.name]))
