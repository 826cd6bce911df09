"""Programs that cannot run together: the connected components of the files, by imports, packages and folders.

What stands in one of them tells nothing of another, so each is analysed by itself. A doubt connects.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator

from verifygate.configured_precision.read import ConfiguredPrecision
from verifygate.framework_names import LIBRARIES
from verifygate.sources.configuration_file import ConfigurationFile
from verifygate.sources.import_resolution import LOADS_BY_NAME, ImportResolver, import_statements
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

    Connected are files of which one imports the other, or the one package of that name that can be installed; all of a
    package, all in one folder, and all that read one configuration, or lie nearest to it; and, with a file that loads
    modules by name, all below the folders of its part. A configuration that goes with no source goes to every part.
    """
    components = _Components(file.path for file in sources)
    resolver = ImportResolver(sources)
    for one, other in (*_by_imports(sources, resolver), *_by_packages(sources, resolver), *_by_folders(sources)):
        components.connect(one, other)
    configured = _configured(sources)
    for paths in configured.values():
        for path in paths:
            components.connect(paths[0], path)
    _connect_what_is_loaded(sources, components)
    found = components.all()
    if len(found) == 1:
        return [sources]
    beside: dict[str, list[ConfigurationFile]] = {}
    for each in sources.configuration:
        paths = configured[each.path]
        for first in [components.of(paths[0])] if paths else found:
            beside.setdefault(first, []).append(each)
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


def _by_packages(sources: Sources, resolver: ImportResolver) -> Iterator[tuple[str, str]]:
    """Imports that lead to no file from where they stand, and may mean a package of the tree that is installed.

    It is one with a build file beside it, of whose name there is no other module in the tree: many are called `utils`.
    """
    builds = {posixpath.dirname(file.path) for file in (*sources, *sources.configuration) if _builds(file.path)}
    places: dict[str, set[str]] = {}
    for path in (file.path.removesuffix(".py") for file in sources):
        parts = path.split("/")
        for count, name in enumerate(parts, 1):
            places.setdefault(name, set()).add("/".join(parts[:count]))
    only: dict[str, str] = {}
    for name, found in places.items():
        *others, place = sorted(found, key=len)
        init = f"{place}/__init__.py"
        is_built = sources.get(init) is not None and posixpath.dirname(place).removesuffix("/src") in builds
        if is_built and name not in LIBRARIES and all(place.startswith(f"{each}/") for each in others):
            only[name] = init
    for file in sources:
        for name in only.keys() & {dotted.partition(".")[0] for dotted, _ in import_statements(file)}:
            if resolver.located(name, file) is None:
                yield file.path, only[name]


def _builds(path: str) -> bool:
    return posixpath.basename(path) in ("setup.py", "pyproject.toml")


def _by_folders(sources: Sources) -> Iterator[tuple[str, str]]:
    first: dict[str, str] = {}
    for file in sources:
        yield first.setdefault(file.folder, file.path), file.path
        folder = file.folder
        while folder and sources.get(f"{folder}/__init__.py") is not None:
            yield f"{folder}/__init__.py", file.path
            folder = posixpath.dirname(folder)


def _configured(sources: Sources) -> dict[str, list[str]]:
    """Path of each configuration -> what it goes with: sources in the nearest folder above, and those that read it.

    What reads it may be led by it to other files beside it.
    """
    folders = {file.folder: file.path for file in sources}
    found: dict[str, list[str]] = {}
    for each in sources.configuration:
        folder = each.folder
        while folder not in folders and folder:
            folder = posixpath.dirname(folder)
        found[each.path] = [folders[folder]] if folder in folders else []
    for setting in ConfiguredPrecision(sources).settings:
        found[setting.path] += setting.programs
    return found


def _connect_what_is_loaded(sources: Sources, components: _Components) -> None:
    """Connect each part in which a file loads modules by name with all that lies where Python may look for them.

    Those are the folders of its programs, and those that hold its packages.
    """
    loading = {components.of(file.path) for file in sources if any(word in file.data for word in LOADS_BY_NAME)}
    found = components.all()
    above = {file.folder: (file.path, list(_and_above(file.folder))) for file in sources}
    for first in sorted(loading):
        roots = {_search_root(folder, sources) for folder in {file.folder for file in sources.each(found[first])}}
        for path, folders in above.values():
            if not roots.isdisjoint(folders):
                components.connect(first, path)


def _search_root(folder: str, sources: Sources) -> str:
    """The folder itself, or what holds the outermost package that it is in."""
    while sources.get(f"{folder}/__init__.py") is not None:
        folder = posixpath.dirname(folder)
    return folder


def _and_above(folder: str) -> Iterator[str]:
    yield folder
    while folder.strip("/"):
        folder = posixpath.dirname(folder)
        yield folder
