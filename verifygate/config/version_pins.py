"""The versions of torch and of training frameworks that a project allows, read from the files in which it declares or
locks what it needs.

Several declarations of one package are united: what one of them allows is allowed. One without a version says nothing.
The parsers of TOML, JSON and Python load only for a file that names one of the packages.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple, Protocol

from verifygate.base.regular_files import MAX_SOURCE_BYTES, read_regular

_Release = tuple[int, ...]

TORCH = "torch"
FRAMEWORKS = ("accelerate", "deepspeed", "lightning", "lightning-fabric", "pytorch-lightning", "transformers")
"""Packages of training frameworks whose arguments differ from version to version."""
_NAMES = dict.fromkeys((TORCH, "pytorch", "pytorch-gpu", "pytorch-cpu"), TORCH) | {name: name for name in FRAMEWORKS}
"""Name on the Python package index, or on conda's channels -> the package."""
_REQUIREMENT = re.compile(r"(?P<name>[A-Za-z][\w.-]*)\s*(?:\[[^\]]*\])?\s*(?P<versions>[^;#]*)")
_WHEEL = re.compile(r"(?:^|/)(?P<name>[A-Za-z]\w*)-(?P<version>\d+(?:\.\d+)*)[^/]*\.(?:whl|zip|tar\.gz)")
_CONDA = re.compile(r"(?:[\w./-]+::)?(?P<name>[A-Za-z][\w.-]*)\s*(?P<versions>[^;#]*)")
_INCLUDED = re.compile(r"(?:-r|--requirement|-c|--constraint)[ =]\s*(?P<path>[^\s#]+)")
_CLAUSE = re.compile(r"(?P<operator>[=~!<>^]*)\s*v?(?P<release>[0-9]{1,9}(?:\.[0-9]{1,9})*)(?![0-9])(?P<any>\.?\*)?")
_LOCKED = re.compile(rb'\[\[package\]\]\s*name = "(?P<name>[\w.-]+)"\s*version = "(?P<version>[^"]+)"')
_MENTIONS = re.compile(r"torch|accelerate|deepspeed|lightning|transformers", re.IGNORECASE)

_FILE = re.compile(
    r"pyproject\.toml|Pipfile|Pipfile\.lock|(?:poetry|uv|pdm)\.lock|setup\.py|setup\.cfg"
    r"|requirements[^/]*\.(?:txt|in)|constraints[^/]*\.txt|requirements/[^/]*\.(?:txt|in)"
    r"|(?:environment|conda)[^/]*\.ya?ml|(?:environment|conda)/[^/]*\.yml"
)


class ProjectFiles(Protocol):
    """The files of a project, as they lie in a folder or as a commit has them; paths are relative to its root."""

    def names(self, folder: str) -> Sequence[str]:
        """The names of what lies in a folder, in a fixed order; none where there is no such folder."""
        ...

    def home(self, path: str) -> str:
        """The file that a path leads to, links followed; empty where it leads out of the project, or to no file."""
        ...

    def read(self, path: str) -> bytes | None:
        """The bytes of a file; None where it cannot be read."""
        ...


class FolderFiles:
    """The files of a project as they lie in its folder."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()

    def names(self, folder: str) -> Sequence[str]:
        try:
            return sorted(each.name for each in (self._root / folder).iterdir())
        except OSError:
            return ()

    def home(self, path: str) -> str:
        try:
            found = (self._root / path).resolve()
            inside = found.is_relative_to(self._root) and found.is_file()
        except (OSError, ValueError):  # too long, or with a null byte
            return ""
        return found.relative_to(self._root).as_posix() if inside else ""

    def read(self, path: str) -> bytes | None:
        try:
            return read_regular(self._root / path, MAX_SOURCE_BYTES, tree=self._root)
        except OSError:
            return None


class VersionRange(NamedTuple):
    """From the lowest version to the highest; None where there is no such end."""

    lowest: _Release | None = None
    highest: _Release | None = None
    with_highest: bool = True
    """Whether the highest belongs to it: not that of `<2.4`."""

    @classmethod
    def of(cls, text: str) -> VersionRange:
        """The range of a specifier as `allowed_versions` writes it, or of a plain version."""
        return _parsed(text) or cls()

    def reaches(self, version: str) -> bool:
        """Whether it has this version, or a later one."""
        if self.highest is None:
            return True
        there = _release(version)
        return self.highest > there or (self.highest == there and self.with_highest)

    def lies_above(self, version: str) -> bool:
        """Whether all of it is this version or later; without a lower end that is not known, and taken for true."""
        if self.lowest is None:
            return self.highest is None or self.reaches(version)
        return self.lowest >= _release(version)

    def begins_at(self, version: str) -> bool:
        """Whether all of it is known to be this version or later."""
        return self.lowest is not None and self.lowest >= _release(version)

    def __str__(self) -> str:
        if self.lowest is not None and self.lowest == self.highest and self.with_highest:
            return _dotted(self.lowest)
        ends = [f">={_dotted(self.lowest)}"] if self.lowest is not None else []
        if self.highest is not None:
            ends.append(f"{'<=' if self.with_highest else '<'}{_dotted(self.highest)}")
        return ",".join(ends)

    def _and(self, other: VersionRange) -> VersionRange:
        lowest = max((each for each in (self.lowest, other.lowest) if each is not None), default=None)
        return VersionRange(lowest, *min(self._upper, other._upper, key=_rank))

    def _or(self, other: VersionRange) -> VersionRange:
        lowest = None if self.lowest is None or other.lowest is None else min(self.lowest, other.lowest)
        return VersionRange(lowest, *max(self._upper, other._upper, key=_rank))

    @property
    def _upper(self) -> tuple[_Release | None, bool]:
        return self.highest, self.with_highest


ANY_VERSION = VersionRange()


def allowed_versions(files: ProjectFiles, folder: str = "") -> dict[str, str]:
    """Package -> the versions of it that a folder allows: `2.1`, `>=1.13`, `>=2,<2.4`; only of those of which it
    names some."""
    found: dict[str, VersionRange] = {}
    for file in _declaring(files, folder):
        for package, text in _read(file, files, {files.home(file)}):
            if (allowed := _parsed(text)) is not None:
                found[package] = found[package]._or(allowed) if package in found else allowed
    return {package: text for package, each in sorted(found.items()) if (text := str(each))}


def of_frameworks(versions: Mapping[str, str]) -> dict[str, str]:
    """The versions of all packages but torch."""
    return {package: text for package, text in versions.items() if package != TORCH}


def united(texts: Iterable[str]) -> VersionRange | None:
    """What one of some ranges allows; None where all of them are empty."""
    found: VersionRange | None = None
    for text in texts:
        allowed = _parsed(text)
        if allowed is not None:
            found = allowed if found is None else found._or(allowed)
    return found


def _rank(end: tuple[_Release | None, bool]) -> tuple[bool, _Release, bool]:
    highest, included = end
    return highest is None, highest or (), included


def _release(text: str) -> _Release:
    numbers = [int(each) for each in re.findall(r"\d+", text.partition("+")[0])]
    while len(numbers) > 1 and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


def _dotted(release: _Release) -> str:
    return ".".join(map(str, release if len(release) > 1 else (*release, 0)))


def _parsed(versions: str) -> VersionRange | None:
    """The range of `>=2.0,<2.4`, `==2.1.*`, `^2.1`, `2.1.0`, conda's `=2.1`; None where no version is named."""
    found: VersionRange | None = None
    for alternative in re.split(r"\|\|?", versions.replace("'", "").replace('"', "").replace("(", "")):
        part: VersionRange | None = None
        for clause in alternative.split(","):
            if (end := _ends(clause.strip())) is not None:
                part = end if part is None else part._and(end)
        if part is None:
            continue
        found = part if found is None else found._or(part)
    return found


def _ends(clause: str) -> VersionRange | None:
    match = _CLAUSE.match(clause)
    if match is None:
        return None
    operator, written = match["operator"], match["release"]
    release, parts = _release(written), [int(each) for each in written.split(".")]
    if operator == "!=":
        return None
    if operator in (">=", ">"):
        return VersionRange(lowest=release)
    if operator in ("<", "<="):
        return VersionRange(highest=release, with_highest=operator == "<=")
    if operator == "^":
        parts = parts[: next((at for at, each in enumerate(parts) if each), len(parts) - 1) + 1]
    elif operator == "~":
        parts = parts[:2]
    elif operator == "~=":
        parts = parts[:-1] or parts
    elif not (match["any"] or operator == "="):
        return VersionRange(release, release)
    above = ".".join(map(str, [*parts[:-1], parts[-1] + 1]))
    return VersionRange(release, _release(above), with_highest=False)


def _declaring(files: ProjectFiles, folder: str) -> list[str]:
    """The files that may name torch for a folder, in a fixed order."""
    found = []
    for below in ("", "requirements", "environment", "conda"):
        for name in files.names(posixpath.join(folder, below).rstrip("/")):
            path = posixpath.join(below, name)
            if _FILE.fullmatch(path):
                found.append(posixpath.join(folder, path))
    return [each for each in found if files.home(each)]


def _read(path: str, files: ProjectFiles, seen: set[str]) -> Iterator[tuple[str, str]]:
    """(package, specifier) of each that one file names.

    One that cannot be read, or parsed, says nothing: whoever builds from it complains.
    """
    file, data = PurePosixPath(path), files.read(path)
    if data is None:
        return
    if file.suffix == ".lock" and file.name != "Pipfile.lock":
        for locked in _LOCKED.finditer(data):
            name, version = (locked[group].decode("ascii", "replace") for group in ("name", "version"))
            yield from _of_package(name, version)
        return
    text = data.decode("utf-8-sig", "replace")
    if file.suffix in (".txt", ".in"):
        for match in _INCLUDED.finditer(text):
            other = files.home((file.parent / match["path"]).as_posix())
            if other and other not in seen:
                seen.add(other)
                yield from _read(other, files, seen)
    if not _MENTIONS.search(text):
        return
    if file.name in ("pyproject.toml", "Pipfile", "Pipfile.lock"):
        yield from _in_document(_document(text, file))
    elif file.name == "setup.py":
        for each in _constants(text):
            yield from _required(each)
    elif file.suffix in (".yml", ".yaml"):
        for line in text.splitlines():
            yield from _conda(line)
    else:
        for line in text.splitlines():
            yield from _required(line.rpartition(" = ")[2])


def _of_package(name: str, specifier: str) -> Iterator[tuple[str, str]]:
    package = _NAMES.get(re.sub(r"[-_.]+", "-", name).lower())
    if package is not None and specifier:
        yield package, specifier


def _required(requirement: str) -> Iterator[tuple[str, str]]:
    """What `torch>=2.1 ; python_version < "3.12"` names; of a wheel what the name of its file says."""
    line = requirement.partition("=")[2] if re.match(r"\s*install_requires\s*=", requirement) else requirement
    if match := _WHEEL.search(line):
        yield from _of_package(match["name"], match["version"])
    elif match := _REQUIREMENT.match(line.strip()):
        yield from _of_package(match["name"], match["versions"].partition(" --")[0])


def _conda(line: str) -> Iterator[tuple[str, str]]:
    """What an entry of a list in YAML names: one of conda's, or one of pip's below it."""
    entry = re.match(r"\s*-\s+(.*)", line)
    text = entry[1].strip().strip("\"'") if entry is not None else ""
    match = _CONDA.match(text)
    found = list(_of_package(match["name"], match["versions"])) if match is not None else []
    yield from found or _required(text)


def _constants(text: str) -> Iterator[str]:
    """The strings in a Python file: requirements stand in lists, dicts and constants."""
    import ast
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from node.value.splitlines()


def _document(text: str, file: PurePosixPath) -> object:
    if file.suffix == ".lock":
        import json

        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return None
    import tomllib

    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return None


def _in_document(value: object, key: str = "") -> Iterator[tuple[str, str]]:
    """The packages named anywhere below: requirements in lists, and the values of keys with their names."""
    if isinstance(value, dict):
        for name, inner in value.items():
            versions = list(_of_key(inner)) if name.lower() in _NAMES else []
            for each in versions:
                yield from _of_package(name, each)
            if not versions:
                yield from _in_document(inner, name)
    elif isinstance(value, list):
        for inner in value:
            if isinstance(inner, str):
                yield from _required(inner) if key not in ("keywords", "classifiers") else ()
            else:
                yield from _in_document(inner, key)


def _of_key(value: object) -> Iterator[str]:
    """`torch = "^2.1"`, `torch = {version = ">=2.1"}`, and lists of these."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        version = value.get("version", "")
        yield from (version,) if version and isinstance(version, str) else ()
    elif isinstance(value, list):
        for each in value:
            yield from _of_key(each) if isinstance(each, dict) else ()
