"""Import resolution: the files that an import statement loads, found without parsing or running any.

`resolve` is the algorithm; who calls it says where modules are searched. `ImportResolver` searches the files under
audit, whose module path nobody has told; the closure of a measured workload searches the project's root and `src/`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from verifygate.framework_names import LIBRARIES
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources

ModuleAt = Callable[[str], str | None]
"""Path of a module without its ending (`a/b`) -> its file; `a/b/__init__.py` goes before `a/b.py`, as in Python."""
Loaded = list[tuple[str, ...]]
"""Of each import in a file, in order, the files that it loads."""

LOADS_BY_NAME = (b"import_module(", b"__import__(")
"""What a file holds that may import modules which its text does not name."""
_NAME = re.compile(r"(\w+|\*)(?:\s+as\s+\w+)?")


class Resolved(NamedTuple):
    """What an import finds in one folder of the search path."""

    folder: str
    """The folder: empty, or ending in `/`."""
    packages: tuple[str, ...]
    """The files of the packages around the module, outermost first. A namespace package has none."""
    module: str | None
    """The file of the module itself."""
    submodules: tuple[str, ...] = ()
    """Of the names that the statement imports from it, the files of those that are modules."""

    @property
    def files(self) -> tuple[str, ...]:
        """All of them: Python runs each."""
        return (*self.packages, *filter(None, [self.module]), *self.submodules)


def resolve(
    dotted: str, search_path: Iterable[str], module_at: ModuleAt, names: Iterable[str] = (), *, partly: bool = False
) -> Resolved | None:
    """Find `import a.b`, or `from a.b import x, y`, in the first folder of the search path that has it.

    With `partly`, the first folder that has `a` decides, as in Python; what it has of the rest is found. That is right
    where the search path is known. Where it is guessed, a folder counts only if it has the whole module.
    """
    parts = dotted.split(".") if dotted else []
    if not all(part.isidentifier() for part in parts):
        return None
    for folder in search_path:
        base = folder + "/".join(parts)
        module = module_at(base if parts else f"{folder}__init__")
        below = f"{base}/" if parts else folder
        submodules = tuple(found for name in names if (found := module_at(below + name)) is not None)
        if module is None and not submodules and not partly:
            continue
        packages: list[str] = []
        for number in range(1, len(parts)):
            file = module_at(folder + "/".join(parts[:number]))
            if file is not None:
                packages.append(file)
                if not file.endswith("/__init__.py"):
                    module, submodules = None, ()  # a module hides the folder of its name
                    break
        if module is not None or submodules or (partly and packages):
            return Resolved(folder, tuple(packages), module, submodules)
    return None


def import_statements(file: SourceFile) -> Iterator[tuple[str, str]]:
    """(`..a`, `b, c as d`) of each `from ..a import b, c as d`; (`a.b`, ``) of each module of an `import a.b, c`."""
    for source, names in file.imports:
        text = names.decode("ascii", "replace")
        if source is not None:
            yield source.decode("ascii", "replace"), text
        else:
            yield from ((words[0], "") for part in text.split(",") if (words := part.split()))


class ImportResolver:
    """Import resolution among the files under audit.

    Their module path is not known: an import is searched next to the importing file (it may be run as a script), then
    in each folder above, and in `src/` of each.
    """

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        files = {file.path: file.path for file in sources} | {link.path: link.twin for link in sources.links}
        self._modules = {path.removesuffix(".py"): file for path, file in files.items()}
        packages = ((path, file) for path, file in files.items() if path.endswith("/__init__.py"))
        self._modules |= {path.removesuffix("/__init__.py"): file for path, file in packages}
        self._parts = {part for path in files for part in path.removesuffix(".py").split("/")}
        """Names of files and folders: an import that begins with another one leads out of the project."""
        self._search_paths: dict[tuple[str, int, bool, bool, bool], tuple[str, ...]] = {}
        self._located: dict[tuple[str, str, int, bool], str | None] = {}

    def located(self, name: str, importer: SourceFile, level: int = 0) -> str | None:
        """The file of the module that `import name` means in `importer`; `level` counts the dots before it."""
        key = (name, importer.folder, level, importer.is_relative)
        if key not in self._located:
            found = self.resolved(name, importer, level)
            self._located[key] = found.module if found is not None else None
        return self._located[key]

    def resolved(self, name: str, importer: SourceFile, level: int = 0, names: Iterable[str] = ()) -> Resolved | None:
        """The files that `from name import names` loads in `importer`."""
        return resolve(name, self._search_path(name, importer, level), self._modules.get, names)

    def loaded(self, file: SourceFile) -> Iterator[tuple[str, ...]]:
        """The files that each import of a file loads, in order, but for those that lead out of the project."""
        for dotted, names in import_statements(file):
            below = dotted.lstrip(".")
            if not below or below.partition(".")[0] in self._parts:
                yield self._files(below, file, len(dotted) - len(below), _NAME.findall(names))

    def _files(self, name: str, importer: SourceFile, level: int, names: Iterable[str]) -> tuple[str, ...]:
        found = self.resolved(name, importer, level, names)
        return found.files if found is not None else ()

    def _search_path(self, name: str, importer: SourceFile, level: int) -> tuple[str, ...]:
        of_library = name.partition(".")[0] in LIBRARIES
        is_rooted = importer.path.startswith("/")
        key = (importer.folder, level, importer.is_relative, of_library, is_rooted)
        if key not in self._search_paths:
            self._search_paths[key] = tuple(self._folders(*key))
        return self._search_paths[key]

    def _folders(self, folder: str, level: int, is_relative: bool, of_library: bool, is_rooted: bool) -> Iterable[str]:
        start = "/" if is_rooted else ""
        parts = folder.removeprefix("/").split("/") if folder.strip("/") else []
        upward = [start + "".join(f"{each}/" for each in parts[:count]) for count in range(len(parts), -1, -1)]
        if level:
            yield from upward[level - 1 : level]
            return
        for base in upward:
            inside = of_library or (is_relative and base == upward[0])
            if inside and f"{base}__init__" in self._modules:
                continue  # `import torch` means torch, whatever lies beside what is imported as part of a package
            yield base
            yield f"{base}src/"
