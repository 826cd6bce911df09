"""The files that a workload is made of: what its module imports, directly or not, below the project's root.

Found in the source, without running it. What only a run knows (modules named at run time, compiled ones, folders put
on the path) is told by the measuring process itself, and the record keeps the union of both.
"""

from __future__ import annotations

import ast
import hashlib
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from verifygate.base.regular_files import MAX_SOURCE_BYTES, read_regular
from verifygate.sources.import_resolution import resolve

SEARCHED = ("", "src/")
"""Folders below the root that modules are imported from. The root is on the module path, `src` by an installation."""
AT_START = ("sitecustomize", "usercustomize")
"""Modules that Python imports by itself, from the module path that the root is on."""


def imported_files(root: Path, workload: str) -> tuple[str, ...]:
    """Files below `root` that `module:function` is made of, relative to it, in order.

    Every import statement counts, wherever it stands: one too many only makes a record a little stricter. A file that
    cannot be parsed counts, with no imports of its own.
    """
    walk = _Walk(root)
    for name in (workload.partition(":")[0], *AT_START):
        walk.follow(name)
    return tuple(sorted(walk.finished()))


def settings_files(root: Path, patterns: Iterable[str]) -> tuple[str, ...]:
    """Files below `root` that match one of the glob patterns, in order. A pattern that leaves the root finds none."""
    found = set()
    for pattern in patterns:
        if not PurePosixPath(pattern).is_absolute() and ".." not in PurePosixPath(pattern).parts:
            found |= {file.relative_to(root).as_posix() for file in root.glob(pattern) if file.is_file()}
    return tuple(sorted(found))


def own_files(root: Path, names: Iterable[str]) -> tuple[str, ...]:
    """Of files that a run has imported, those of the project: below the root, in no environment."""
    found = set()
    for name in names:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or "site-packages" in path.parts or not (root / path).is_file():
            continue
        if not any((root / folder / "pyvenv.cfg").exists() for folder in path.parents):
            found.add(path.as_posix())
    return tuple(sorted(found))


def digests(root: Path, names: Iterable[str]) -> dict[str, str]:
    """Name -> sha256 of the file, for those that can be read."""
    found = {}
    for name in sorted(set(names)):
        try:
            found[name] = hashlib.sha256(read_regular(root / name, MAX_SOURCE_BYTES, tree=root)).hexdigest()
        except OSError:
            continue  # it is gone: to the reader of the result, that is a difference like any other
    return found


class _Walk:
    """Follows imports from file to file."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._package: dict[str, str] = {}
        """File -> the package that its relative imports start from."""
        self._waiting: list[str] = []

    def finished(self) -> Iterable[str]:
        """Everything that was found, once all of it is followed."""
        while self._waiting:
            file = self._waiting.pop()
            for name in _names(self._root / file, self._package[file]):
                self.follow(name)
        return self._package

    def follow(self, dotted: str) -> None:
        """Find a module, and the packages around it, in the first folder that has its beginning."""
        found = resolve(dotted, SEARCHED, self._module_at, partly=True) if dotted else None
        if found is None:
            return
        for file in found.files:
            if file not in self._package:
                self._package[file] = file.removeprefix(found.folder).rpartition("/")[0].replace("/", ".")
                self._waiting.append(file)

    def _module_at(self, path: str) -> str | None:
        files = (f"{path}/__init__.py", f"{path}.py")
        return next((file for file in files if (self._root / file).is_file()), None)


def _names(file: Path, package: str) -> Iterator[str]:
    """Dotted names that a file imports; `from a import b` gives `a` and `a.b`, for `b` may be a module."""
    try:
        with warnings.catch_warnings(action="ignore"):  # of the project's strings: none of a record's business
            tree = ast.parse(read_regular(file, MAX_SOURCE_BYTES))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if (base := _absolute(node, package)) is not None:
                yield from filter(None, [base])
                yield from (f"{base}.{alias.name}" if base else alias.name for alias in node.names)
        elif isinstance(node, ast.Call) and node.args and _imports(node.func):
            name = node.args[0]
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                yield name.value


def _absolute(node: ast.ImportFrom, package: str) -> str | None:
    """The module that `from ... import` names; None where its dots lead out of the package."""
    if not node.level:
        return node.module or ""
    parts = package.split(".") if package else []
    if node.level > len(parts):
        return None
    return ".".join([*parts[: len(parts) - node.level + 1], *([node.module] if node.module else [])])


def _imports(function: ast.expr) -> bool:
    """Whether a call of it imports the module that its first argument names."""
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name in ("import_module", "__import__")
