"""Which files run together: an entry point and everything that it imports.

The imports are read from the bytes of the files, so that asking parses nothing.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from verifygate.source import SourceFile, Sources

_FROM = re.compile(rb"^[ \t]*from[ \t]+([.\w]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n#]*)", re.MULTILINE)
_IMPORT = re.compile(rb"^[ \t]*import[ \t]+([^\n#]+)", re.MULTILINE)
_MAIN = re.compile(rb"^if[ \t]+__name__", re.MULTILINE)
_MAX_ENTRIES = 60


class Companions:
    """The import graph of the files, and the programs in it."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self._paths = {file.path for file in sources}
        self._imports = {file.path: self._imported(file) for file in sources}
        self._importers: dict[str, set[str]] = {}
        for path, targets in self._imports.items():
            for target in targets:
                self._importers.setdefault(target, set()).add(path)
        self._closures: dict[str, frozenset[str]] = {}

    def programs(self, path: str) -> list[frozenset[str]]:
        """The files of each program that the file is part of: one for every entry point that leads to it."""
        leading = _reach(path, self._importers)
        entries = sorted(each for each in leading if self._is_entry(each)) or [path]
        found = {self.closure(entry) for entry in entries[:_MAX_ENTRIES]}
        return sorted(found, key=lambda files: (len(files), sorted(files)))

    def closure(self, entry: str) -> frozenset[str]:
        """The file and everything that it imports, directly or not."""
        if entry not in self._closures:
            self._closures[entry] = frozenset(_reach(entry, self._imports))
        return self._closures[entry]

    def _is_entry(self, path: str) -> bool:
        file = self.sources.get(path)
        return not self._importers.get(path, set()) - {path} or (file is not None and bool(_MAIN.search(file.data)))

    def _imported(self, file: SourceFile) -> set[str]:
        found: set[str] = set()
        for match in _FROM.finditer(file.data):
            source = match[1].decode("ascii", "replace")
            dotted = source.lstrip(".")
            level = len(source) - len(dotted)
            names = re.findall(r"(\w+|\*)(?:\s+as\s+\w+)?", match[2].decode("ascii", "replace"))
            found |= self._find(file.path, dotted, level, names)
        for match in _IMPORT.finditer(file.data):
            for part in match[1].decode("ascii", "replace").split(","):
                if words := part.split():
                    found |= self._find(file.path, words[0], 0, [])
        return found - {file.path}

    def _find(self, importer: str, dotted: str, level: int, names: list[str]) -> set[str]:
        folder = PurePosixPath(importer).parent
        parts = [part for part in dotted.split(".") if part]
        above = [folder, *folder.parents]
        if not level:
            above = [each for outer in above for each in (outer, outer / "src")]
        for base in above[level - 1 : level] if level else above:
            here = base.joinpath(*parts)
            inner = {found for name in names if (found := self._file(here / name))}
            own = self._file(here)
            if own or inner:
                outer = (base.joinpath(*parts[:number]) / "__init__" for number in range(1, len(parts) + 1))
                packages = {found for each in outer if (found := self._file(each))}  # importing a.b runs a first
                return inner | packages | ({own} if own else set())
        return set()

    def _file(self, base: PurePosixPath) -> str | None:
        return next((path for path in (f"{base}.py", f"{base}/__init__.py") if path in self._paths), None)


def _reach(start: str, edges: dict[str, set[str]]) -> set[str]:
    seen = {start}
    stack = [start]
    while stack:
        for following in edges.get(stack.pop(), ()):
            if following not in seen:
                seen.add(following)
                stack.append(following)
    return seen
