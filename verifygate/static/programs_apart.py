"""Programs that cannot run together: the connected components of the files, by imports, packages and folders.

What stands in one of them tells nothing of another, so each is analysed by itself. A doubt connects.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator

from verifygate.sources.configuration_file import ConfigurationFile
from verifygate.sources.import_resolution import LOADS_BY_NAME, ImportResolver
from verifygate.sources.tree import Sources


class _Components:
    """Disjoint sets of paths (union-find)."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._above = {path: path for path in paths}

    def of(self, path: str) -> str:
        """One path that stands for all of its component: the first."""
        while (above := self._above[path]) != path:
            self._above[path] = path = self._above[above]
        return path

    def connect(self, one: str, other: str) -> None:
        first, last = sorted((self.of(one), self.of(other)))
        self._above[last] = first

    def all(self) -> dict[str, list[str]]:
        """First path -> the paths of its component, in order."""
        found: dict[str, list[str]] = {}
        for path in self._above:
            found.setdefault(self.of(path), []).append(path)
        return found


def parts_of(sources: Sources) -> list[Sources]:
    """The sources in parts that tell nothing of one another, in order of their first files.

    Connected are files of which one imports the other, all of a package, all in one folder, and, with a file that loads
    modules by name, all below the folder that holds its part. A configuration goes to the part nearest to it.
    """
    components = _Components(file.path for file in sources)
    resolver = ImportResolver(sources)
    for one, other in (*_by_imports(sources, resolver), *_by_folders(sources)):
        components.connect(one, other)
    _connect_what_is_loaded(sources, components)
    found = components.all()
    if len(found) == 1:
        return [sources]
    beside = _configuration_of(sources, components)
    parts: list[Sources] = []
    for first, paths in found.items():
        unreadable = sources.unreadable if not parts else ()
        links = [link for link in sources.links if components.of(link.twin) == first]
        parts.append(Sources(sources.each(paths), unreadable, beside.get(first, ()), links))
    return parts


def _by_imports(sources: Sources, resolver: ImportResolver) -> Iterator[tuple[str, str]]:
    for file in sources:
        for files in resolver.loaded(file):
            yield from ((file.path, each) for each in files)
    for link in sources.links:  # its importers stand beside it
        beside = next((file.path for file in sources if file.folder == link.folder), None)
        if beside is not None:
            yield link.twin, beside


def _by_folders(sources: Sources) -> Iterator[tuple[str, str]]:
    first: dict[str, str] = {}
    for file in sources:
        yield first.setdefault(file.folder, file.path), file.path
        folder = file.folder
        while folder and sources.get(f"{folder}/__init__.py") is not None:
            yield f"{folder}/__init__.py", file.path
            folder = posixpath.dirname(folder)


def _connect_what_is_loaded(sources: Sources, components: _Components) -> None:
    """Connect each part in which a file loads modules by name with all that lies below the part's own folder."""
    loading = {components.of(file.path) for file in sources if any(word in file.data for word in LOADS_BY_NAME)}
    found = components.all()
    for first in sorted(loading):
        root = posixpath.commonpath([f"/{path}" for path in map(posixpath.dirname, found[first])]).lstrip("/")
        for path in found:
            if not root or path.lstrip("/").startswith(f"{root}/"):
                components.connect(first, path)


def _configuration_of(sources: Sources, components: _Components) -> dict[str, list[ConfigurationFile]]:
    """First path of a part -> the configuration that goes with it.

    It is the part with sources in the nearest folder above; where there is none, every part may be meant.
    """
    holding = {file.folder: components.of(file.path) for file in sources}
    found: dict[str, list[ConfigurationFile]] = {}
    for each in sources.configuration:
        folder = posixpath.dirname(each.path)
        while folder not in holding and folder:
            folder = posixpath.dirname(folder)
        for part in [holding[folder]] if folder in holding else components.all():
            found.setdefault(part, []).append(each)
    return found
