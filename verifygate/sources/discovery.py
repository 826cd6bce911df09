"""Find the Python files of a project and read them; nothing here parses them."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Container, Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from verifygate.base.errors import UsageError
from verifygate.base.regular_files import open_regular, read_regular
from verifygate.sources.configuration_file import CI_FILES, MAX_FILES, SUFFIXES, ConfigurationFile
from verifygate.sources.file import AMP_WORDS, MAX_FILE_BYTES, MOST_SEARCHED_BYTES, SourceFile, is_encodable
from verifygate.sources.left_out import Exclusion
from verifygate.sources.named_programs import named_programs
from verifygate.sources.program_text import is_amp_program
from verifygate.sources.tree import Sources, left_out_by_rule

PYTHON_SUFFIXES = (".py", ".pyw")
BESIDE_SOURCE = (".ipynb", ".pyc")
"""Files that may hold a program although they are no Python text."""
AUDITED = (*PYTHON_SUFFIXES, ".ipynb")
MAX_ENVIRONMENT_BYTES = 64 * 1024
"""A `pyvenv.cfg` has a few lines."""
OUTPUTS = frozenset({"build", "dist"})
SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules", "site-packages", "build", "dist", "__pypackages__"})
"""Folders of copies and of other people's code; virtual environments are recognised by their pyvenv.cfg.

A `build` or `dist` with Python files of its own is a package that bears the name, and is read."""


def read_sources(
    root: Path, paths: Iterable[str], exclude: Iterable[str] | Exclusion = (), *, confined: bool = True
) -> Sources:
    """Read every Python file and notebook at or below `paths`, which are relative to `root`.

    Folders that hold no project code (hidden ones, environments, build outputs) are skipped, and what git is told to
    ignore and does not keep; a file named outright is read even there, unless `exclude` matches it: as configuration
    where its name says so, else as Python. With `confined`, a path that resolves outside `root` is refused. Raises
    UsageError.
    """
    found: dict[str, SourceFile] = {}
    configuration: dict[str, ConfigurationFile] = {}
    unreadable: list[tuple[str, str]] = []
    left: dict[str, str] = {}
    exclusion = Exclusion.of(exclude)
    for given in paths:
        start = _start_of(root, given, confined=confined)
        tree = root if confined or start.resolve().is_relative_to(root.resolve()) else _folder_of(start)
        walked = _Walked(start)
        shown = {
            os.fspath(file): _path_in_reports(file, root, given)
            for file in (*walked.python, *walked.other, *walked.beside)
        }
        out = exclusion.among(start, {path: walked.inside(file) for file, path in shown.items()})
        left |= {path: why for path, why in out.items() if path.endswith(AUDITED)}
        for file in (*walked.python, *walked.other):
            path = shown[os.fspath(file)]
            if path in found or path in out:
                continue
            read = _read(file, path, tree)
            if isinstance(read, SourceFile):
                found[path] = read
            elif read:
                unreadable.append(read)
        beside = [each for each in walked.beside if shown[os.fspath(each)] not in out]
        room = max(MAX_FILES - len(configuration), int(start.is_file()))
        for file in sorted(beside, key=lambda each: len(each.parts))[:room]:
            path = shown[os.fspath(file)]
            if is_encodable(path) and path not in configuration:
                made = ConfigurationFile(path, os.fspath(file), tree=os.fspath(tree))
                if why := made.why_not_read:
                    unreadable.append((path, f"cannot be read: {why}"))
                else:
                    configuration[path] = made
        unreadable += [
            (_path_in_reports(Path(error.filename), root, given), f"cannot be read: {error.strerror}")
            for error in walked.shut
        ]
    _resolve_links(found.values())
    unreadable += [
        (path, reason)
        for path, reason in named_programs(root, found.values(), lambda path: not is_walked(root, path))
        if not exclusion.leaves_out(path)
    ]
    out_of_all = {path: why for path, why in left.items() if path not in found}
    return Sources(found.values(), unreadable, configuration.values(), left_out=left_out_by_rule(out_of_all))


def configuration_below(
    root: Path, exclude: Iterable[str] | Exclusion = (), named: Iterable[str] = ()
) -> list[ConfigurationFile]:
    """The files at or below a folder that may configure a program or launch one, and what its CI systems run.

    `named` are paths of files there that are among them wherever they lie.
    """
    exclusion = Exclusion.of(exclude)
    beside = [*_ci_files(root), *(root / each for each in named)]
    for _ in walk(root, None, beside):
        pass
    paths = {each.relative_to(root).as_posix(): each for each in beside}
    kept = sorted((path for path in paths if not exclusion.leaves_out(path)), key=lambda path: (path.count("/"), path))
    return [
        ConfigurationFile(path, os.fspath(paths[path]), tree=os.fspath(root))
        for path in kept[:MAX_FILES]
        if is_encodable(path)
    ]


def _ci_files(root: Path) -> list[Path]:
    return [each for pattern in CI_FILES for each in sorted(root.glob(pattern)) if each.is_file()]


class _Walked:
    """What lies at or below a path: Python files, what else may hold a program, what may configure one."""

    def __init__(self, start: Path) -> None:
        self._start = f"{start}{os.sep}" if start.is_dir() else ""
        self.shut: list[OSError] = []
        self.beside: list[Path] = _ci_files(start) if self._start else []
        self.other: list[Path] = []
        self.python = list(walk(start, self.shut.append, self.beside, self.other)) if self._start else [start]
        if not self._start and start.suffix in BESIDE_SOURCE:
            self.python, self.other = [], [start]
        elif not self._start and _is_configuration(start):
            self.python, self.beside = [], [start]

    def inside(self, file: str) -> str:
        """The way from the folder that was walked to a file; empty for a file that was named outright."""
        return file[len(self._start) :].replace(os.sep, "/") if self._start else ""


def _is_configuration(file: Path) -> bool:
    """Whether a file that was named is one by its name, and no program under that name."""
    if not file.name.endswith(SUFFIXES):
        return False
    try:
        return not is_amp_program(read_regular(file, MAX_FILE_BYTES))
    except OSError:
        return True


def _start_of(root: Path, given: str, *, confined: bool) -> Path:
    """What a path leads to. Raises UsageError."""
    start = root / given
    if not start.exists():
        raise UsageError("no such file or folder", where=given, remedy="give a path that exists")
    if confined and not start.resolve().is_relative_to(root.resolve()):
        raise UsageError(
            "is outside the project's root",
            where=given,
            remedy="sources must be below the configuration's folder",
        )
    return start


def _read(file: Path, path: str, tree: Path) -> SourceFile | tuple[str, str] | None:
    """A file as source; path and reason where it cannot be read; None where it is no program."""
    if file.suffix in BESIDE_SOURCE:
        read = _read_beside_source(file, path, tree) if is_encodable(path) else None
        return (path, read) if isinstance(read, str) else read
    if not is_encodable(path):
        shown = path.encode("utf-8", "backslashreplace").decode()
        return shown, "its name is no text in this locale: rename it, or set PYTHONUTF8=1"
    try:
        return _read_source(file, path, tree)
    except OSError as error:
        return path, f"cannot be read: {error.strerror}"


def _folder_of(start: Path) -> Path:
    return start if start.is_dir() else start.parent


def _read_source(file: Path, path: str, tree: Path) -> SourceFile:
    """One file. Of one that is too large for a source the beginning is held, and whether it mentions AMP anywhere."""
    source = SourceFile(path, read_regular(file, MOST_SEARCHED_BYTES, tree=tree), os.fspath(file))
    if source.size > MAX_FILE_BYTES:
        source.mentions_amp, source.digest  # noqa: B018 - computed of all of it, and kept
        source.data = source.data[: MAX_FILE_BYTES + 1]
    return source


def _read_beside_source(file: Path, path: str, tree: Path) -> SourceFile | str | None:
    """A notebook; or why what may be a program cannot be analysed, where it mentions AMP."""
    try:
        if file.suffix == ".ipynb":
            from verifygate.sources.notebook import read_notebook  # for few projects

            return read_notebook(path, read_regular(file, MOST_SEARCHED_BYTES, tree=tree))
        if any(file.with_suffix(suffix).exists() for suffix in PYTHON_SUFFIXES) or not file.is_file():
            return None
        with open_regular(file, tree=tree) as opened:
            data = opened.read(MAX_FILE_BYTES)
        return _BYTECODE if AMP_WORDS.found_in(data) or b"scaler" in data else None  # names stand apart there
    except OSError as error:
        return f"cannot be read: {error.strerror}"


_BYTECODE = "is bytecode without its source, which Python imports all the same"


def _resolve_links(files: Iterable[SourceFile]) -> None:
    """Set `twin` of each symbolic link to another of the files, and let both have the same bytes in memory."""
    links = [file for file in files if file.is_link]
    if links:
        homes = {file.real_path: file for file in files if not file.is_link}
        for link in links:
            home = homes.get(link.real_path)
            if home is not None and home.data == link.data:
                link.twin, link.data = home.path, home.data


def walk(
    folder: Path,
    on_error: Callable[[OSError], object] | None = None,
    beside: list[Path] | None = None,
    other: list[Path] | None = None,
    top: Path | None = None,
) -> Iterator[Path]:
    """Yield the Python files below a folder in a stable order.

    Links to folders are followed only where they lead to a folder of the same tree that is skipped otherwise: a
    package may be a link to a hidden folder. `on_error` is called with the error of each folder that cannot be listed.
    `beside` gets the files that may configure a program, `other` those that may hold one and are no Python text. `top`
    is the folder that the walk began with.
    """
    top = folder if top is None else top
    try:
        with os.scandir(folder) as listed:
            entries = sorted(listed, key=lambda entry: entry.name)
    except OSError as error:
        if on_error is not None:
            on_error(error)
        return
    for entry in entries:
        if entry.name.endswith(PYTHON_SUFFIXES):
            file = folder / entry.name
            if entry.is_file(follow_symlinks=False) or _is_there(file):
                yield file  # what it is, whoever reads it finds out
        elif other is not None and entry.name.endswith(BESIDE_SOURCE):
            if folder.name != "__pycache__":
                other.append(folder / entry.name)
        elif beside is not None and entry.name.endswith(SUFFIXES) and not entry.name.startswith("."):
            file = folder / entry.name
            if entry.is_file(follow_symlinks=False) or _is_there(file):
                beside.append(file)
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            follow = not _is_skipped(folder, entry.name)
        else:
            follow = entry.is_symlink() and _is_as_it_lies(folder, top) and _leads_to_skipped(folder / entry.name, top)
        if follow:
            yield from walk(folder / entry.name, on_error, beside, other, top)


def _is_there(file: Path) -> bool:
    """Whether something else than a folder bears a name: a link that leads nowhere is nothing."""
    try:
        return not stat.S_ISDIR(file.stat().st_mode)
    except OSError:
        return False


def is_walked(root: Path, path: str, exclude: Iterable[str] | Exclusion = ()) -> bool:
    """Whether `read_sources` of the whole root would read a Python file at this path, whether or not it is there.

    What git ignores is not asked: a file in an editor is one that somebody named.
    """
    parts = PurePosixPath(path).parts
    if not path.endswith(AUDITED) or not is_encodable(path) or Exclusion.of(exclude).leaves_out(path):
        return False
    return not _is_in_skipped(root, parts)


def is_noted(root: Path, path: str, named: Container[str] = (".",)) -> bool:
    """Whether `read_sources` of what is named would note a configuration at this path, whether or not it is there."""
    parts = PurePosixPath(path).parts
    tops = [depth for depth in range(len(parts)) if ("/".join(parts[:depth]) or ".") in named]
    return path in named or any(_is_noted_below(root.joinpath(*parts[:depth]), parts[depth:]) for depth in tops)


def _is_noted_below(top: Path, parts: tuple[str, ...]) -> bool:
    path = "/".join(parts)
    if any(len(parts) == each.count("/") + 1 and fnmatchcase(path, each) for each in CI_FILES):
        return True
    return path.endswith(SUFFIXES) and not parts[-1].startswith(".") and not _is_in_skipped(top, parts)


def _is_in_skipped(root: Path, parts: tuple[str, ...]) -> bool:
    return any(_is_skipped(root.joinpath(*parts[:depth]), name) for depth, name in enumerate(parts[:-1]))


def _is_skipped(parent: Path, name: str) -> bool:
    if name in OUTPUTS:
        return not _holds_python(parent / name)
    return name.startswith(".") or name in SKIPPED_FOLDERS or _is_environment(parent / name)


def _holds_python(folder: Path) -> bool:
    try:
        with os.scandir(folder) as listed:
            return any(entry.name.endswith(PYTHON_SUFFIXES) for entry in listed)
    except OSError:
        return False


def _is_environment(folder: Path) -> bool:
    """Whether it is a virtual environment: an empty `pyvenv.cfg` makes none."""
    try:
        return b"home" in read_regular(folder / "pyvenv.cfg", MAX_ENVIRONMENT_BYTES)
    except OSError:
        return False


def _is_as_it_lies(folder: Path, top: Path) -> bool:
    """Whether no link was followed on the way to a folder: within one that was, none is."""
    return os.path.realpath(folder) == os.path.normpath(os.path.join(os.path.realpath(top), folder.relative_to(top)))  # noqa: PTH118


def _leads_to_skipped(link: Path, top: Path) -> bool:
    """Whether a link leads to a folder of the tree that is skipped where it lies, and is no environment."""
    target, home = os.path.realpath(link), os.path.realpath(top)
    if not target.startswith(f"{home}{os.sep}") or not os.path.isdir(target):  # noqa: PTH112 - asked of every link
        return False
    parts = Path(target).relative_to(home).parts
    above = [Path(home, *parts[:depth]) for depth in range(len(parts))]
    if "site-packages" in parts or any(map(_is_environment, [*above[1:], Path(target)])):
        return False
    return any(_is_skipped(folder, name) for folder, name in zip(above, parts, strict=True))


def _path_in_reports(file: Path, root: Path, given: str) -> str:
    if os.path.isabs(given):  # noqa: PTH117 - asked of every file
        return file.as_posix()
    start = f"{root}{os.sep}"
    if str(file).startswith(start) and ".." not in given:
        return file.as_posix()[len(start) :]
    return PurePosixPath(os.path.normpath(os.path.relpath(file, root))).as_posix()
