"""The import graph: which files run together, that is an entry point and everything that it imports.

The imports are read from the bytes of the files, so that asking parses nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from functools import cached_property, reduce
from operator import or_

from verifygate.base.fixpoint import fixpoint
from verifygate.sources.file import SourceFile
from verifygate.sources.import_resolution import LOADS_BY_NAME, ImportResolver
from verifygate.sources.tree import Sources

_MAX_ENTRIES = 60
_IMPORTS = b"import "
_FIRST_GOES_FIRST = str.maketrans("01", "10")
"""Of two programs the one that has the first file in which they differ goes first."""


class _InOrder:
    """The paths of all files under audit, and the place of each among them."""

    def __init__(self, paths: tuple[str, ...]) -> None:
        self.paths = paths
        self.places = {path: place for place, path in enumerate(paths)}


class Files(Set[str]):
    """Some of the files under audit, one bit for each: there are many programs, and they share most of their files."""

    __slots__ = ("_all", "bits")

    def __init__(self, of: _InOrder, bits: int) -> None:
        self._all = of
        self.bits = bits

    def __contains__(self, path: object) -> bool:
        place = self._all.places.get(path)  # type: ignore[call-overload]
        return place is not None and bool(self.bits >> place & 1)

    def __iter__(self) -> Iterator[str]:
        there = f"{self.bits:b}"[::-1]
        place = there.find("1")
        while place != -1:
            yield self._all.paths[place]
            place = there.find("1", place + 1)

    def __len__(self) -> int:
        return self.bits.bit_count()

    def __hash__(self) -> int:
        return hash(self.bits)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Files) and self.bits == other.bits

    @property
    def order(self) -> tuple[int, str]:
        """Where they stand among others: fewer files first, then as the lists of their paths would be sorted."""
        there = f"{self.bits:0{len(self._all.paths)}b}"
        return len(self), there[::-1].translate(_FIRST_GOES_FIRST)

    @classmethod
    def _from_iterable(cls, paths: Iterable[str]) -> frozenset[str]:  # type: ignore[override]
        return frozenset(paths)

    def joined(self, others: Iterable[Files]) -> Files:
        """These files and all of the others."""
        return Files(self._all, reduce(or_, (each.bits for each in others), self.bits))


class ImportGraph:
    """The import graph of the files, and the programs in it."""

    def __init__(self, sources: Sources, resolver: ImportResolver) -> None:
        self.sources = sources
        self._resolver = resolver
        self._all = _InOrder(tuple(file.path for file in sources))
        self._imports = {file.path: self._imported(file) for file in sources}
        self._importers: dict[str, set[str]] = {}
        for path, targets in self._imports.items():
            for target in targets:
                self._importers.setdefault(target, set()).add(path)
        self._closures: dict[str, Files] = {}
        self._programs: dict[str, list[Files]] = {}
        self._together: dict[str, Files] = {}
        self._with_loaded: dict[str, Files] = {}
        self._loads: dict[int, bool] = {}
        """Files that run together, by their bits -> whether one of them loads modules by name."""
        self._entries: dict[str, bool] = {}

    def is_imported(self, path: str) -> bool:
        """Whether another file imports the file."""
        return bool(self._importers.get(path, set()) - {path})

    def programs(self, path: str) -> list[Files]:
        """The files of each program that the file is part of: one for every entry point that leads to it."""
        if path not in self._programs:
            leading = fixpoint([path], lambda each: self._importers.get(each, ()))
            entries = sorted(each for each in leading if self._is_entry(each)) or [path]
            found = {self.closure(entry) for entry in entries[:_MAX_ENTRIES]}
            self._programs[path] = sorted(found, key=lambda files: files.order)
        return self._programs[path]

    def together(self, path: str) -> Files:
        """The files of all programs that the file is part of."""
        if path not in self._together:
            self._together[path] = Files(self._all, 0).joined(self.programs(path))
        return self._together[path]

    def with_loaded(self, path: str) -> Files:
        """The same and, where one of them loads modules by name, what it may load.

        Those are the files that nothing imports and that are no scripts, with all that they import.
        """
        if path not in self._with_loaded:
            files = self.together(path)
            if (loads := self._loads.get(files.bits)) is None:
                loads = any(word in file.data for file in self.sources.each(files) for word in LOADS_BY_NAME)
                self._loads[files.bits] = loads
            self._with_loaded[path] = files.joined([self._loadable]) if loads else files
        return self._with_loaded[path]

    @cached_property
    def _loadable(self) -> Files:
        modules = (file for file in self.sources if not self._importers.get(file.path) and not file.is_script)
        return Files(self._all, 0).joined(self.closure(file.path) for file in modules if _IMPORTS in file.data)

    def closure(self, entry: str) -> Files:
        """The file and everything that it imports, directly or not.

        What is known of a file is not walked again, so the one that most files import is made known first.
        """
        if entry not in self._closures:
            hub = max(self._imports[entry], key=lambda path: (len(self._importers[path]), path), default=entry)
            for path in (hub, entry):
                self._closures[path] = self._closures.get(path) or self._walked(path)
        return self._closures[entry]

    def _walked(self, start: str) -> Files:
        bits = 0
        stack = [start]
        while stack:
            path = stack.pop()
            bit = 1 << self._all.places[path]
            for each in self._imports[path] if not bits & bit else ():
                if each in self._closures:
                    bits |= self._closures[each].bits
                else:
                    stack.append(each)
            bits |= bit
        return Files(self._all, bits)

    def _is_entry(self, path: str) -> bool:
        if path not in self._entries:
            file = self.sources.get(path)
            starts = file is not None and file.is_script
            self._entries[path] = starts or not self.is_imported(path)
        return self._entries[path]

    def _imported(self, file: SourceFile) -> set[str]:
        return set().union(*self._resolver.loaded(file)) - {file.path}
