"""What `check` reads: the named files and folders, and around a named file the project that it belongs to.

A rule follows a value into other files, and a file says little of who calls it. So where a file is named, its whole
project is analysed, and what concerns the file is reported: the same as of a check of the project. The project is the
folder of the configuration, or else the nearest folder above the file that has a build file or a repository. A file
that configures a program, and belongs to no project, is read with the folder that it lies in.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from verifygate.base.errors import UsageError
from verifygate.sources.configuration_file import SUFFIXES
from verifygate.sources.discovery import AUDITED, is_noted, read_sources
from verifygate.sources.file import SourceFile
from verifygate.sources.left_out import Exclusion
from verifygate.sources.program_text import is_amp_program, is_program
from verifygate.sources.tree import Sources

MARKERS = ("pyproject.toml", "setup.py", "setup.cfg", ".git")
"""What the root folder of a project holds."""
HERE = (".",)


class Asked(NamedTuple):
    """The files to analyse, and what of them the answer is about."""

    sources: Sources
    root: Path
    """What the paths of the sources are relative to."""
    scope: frozenset[str] | None = None
    """Files and folders, relative to the root, to report on; None for all that was read."""
    audited: frozenset[str] = frozenset(HERE)
    """Files and folders, relative to the root, that were read."""
    exclude: Exclusion = Exclusion()
    as_typed: Callable[[str], str] | None = None
    """From a path of the sources to what a person would type; None where these are the same."""
    left_out: int = 0
    """Named files that `[project] exclude` matches, or that are models."""
    homes: frozenset[str] = frozenset()
    """Files that links in the scope lead to: these may be analysed in place of the links."""
    beside: int = 0
    """Python files that lie beside named ones of no project, and are not read."""

    @property
    def settings(self) -> list[str]:
        """The files that were named outright and configure programs, in order of path."""
        if self.scope is None:
            return []
        return [each.path for each in self.sources.configuration if each.path in self.scope]

    def is_named(self, path: str) -> bool:
        """Whether this file was asked for, by its own path."""
        return self.scope is None or _is_below(path, self.scope)

    def is_asked(self, path: str) -> bool:
        """Whether the answer is about this file."""
        return path in self.homes or self.is_named(path)

    def is_there(self, path: str) -> bool:
        """Whether there is a file at this path, relative to the root."""
        return (self.root / path).exists()

    def is_audited(self, path: str) -> bool:
        """Whether a file of an earlier revision would have been read."""
        if not _is_below(path, self.audited) or self.exclude.leaves_out(path):
            return False
        return path.endswith(AUDITED) or is_noted(self.root, path, self.audited)


def read_asked(
    paths: tuple[str, ...],
    start: Path,
    exclude: tuple[str, ...] | Exclusion,
    configured: Path | None,
    sources: tuple[str, ...],
    *,
    rooted: bool,
    text: tuple[str, bytes] | None = None,
) -> Asked:
    """Read what is asked for. `configured` is the folder of the configuration, `sources` are those it names.

    With `rooted`, paths are relative to the project's root whatever is named; so they are where patterns of `exclude`,
    which are relative to it, would else meet other paths. `text` is a file that is being edited, and its bytes. Raises
    UsageError.
    """
    exclusion = Exclusion.of(exclude)
    named = (text[0],) if text is not None else paths or HERE
    rooted |= bool(exclusion) and (start != configured or any(map(os.path.isabs, named)))
    if text is None and not rooted and not any((start / each).is_file() for each in named):
        return Asked(named_sources(paths, exclusion), start, exclude=exclusion)
    places = [_placed(start, each) for each in named]
    root = _project_of(places, configured)
    if root is None:
        if text is None and not any(place.name.endswith(SUFFIXES) for place in places):
            beside = left_beside(paths, start)
            return Asked(named_sources(paths, exclusion), start, exclude=exclusion, beside=beside)
        folders = [place if place.is_dir() else place.parent for place in places]
        root = Path(os.path.commonpath(folders))
        sources = tuple(folder.relative_to(root).as_posix() for folder in folders)
    for each, place in zip(named, places, strict=True):
        if text is None and not place.exists():
            raise UsageError("no such file or folder", where=each, remedy="give a path that exists")
    inside = tuple(place.relative_to(root).as_posix() for place in places)
    around = (sources or HERE) if text is not None or any(place.is_file() for place in places) else ()
    wanted = (*around, *inside) if text is None else around
    read = read_sources(root, wanted, exclusion, confined=False)
    if text is not None:
        read = _with_text(read, SourceFile(inside[0], text[1]))
    _refuse_other_texts(read, dict(zip(inside, named, strict=True)))
    asked = Asked(
        read,
        root,
        frozenset(inside),
        frozenset(wanted or inside),
        exclusion,
        None if root == start and not any(Path(each).is_absolute() for each in named) else _typist(root, start, named),
        sum(exclusion.leaves_out(each) for each in inside),
        frozenset(file.twin for file in read if file.twin and _is_below(file.path, frozenset(inside))),
    )
    there = asked.left_out or asked.settings or any(asked.is_named(path) for path in _paths(read)) or _drives(read)
    if not there:
        raise nothing_found(named, read)
    return asked


def named_sources(paths: tuple[str, ...], exclude: tuple[str, ...] | Exclusion) -> Sources:
    """The Python files that the user named, or all here. Raises UsageError where there is none."""
    named = paths or HERE
    sources = read_sources(Path.cwd(), named, exclude, confined=False)
    _refuse_other_texts(sources, {each.path: each.path for each in sources})
    if not sources.files and not sources.unreadable and not _drives(sources):
        raise nothing_found(named, sources)
    return sources


def left_beside(paths: tuple[str, ...], start: Path) -> int:
    """How many Python files lie beside the named files, and are neither named nor in a named folder."""
    places = {_placed(start, each) for each in paths}
    folders = {place.parent for place in places if place.is_file()} - places
    there = (each for folder in folders for each in folder.iterdir() if each.suffix == ".py" and each not in places)
    return sum(not any(above in places for above in each.parents) for each in there)


def _refuse_other_texts(sources: Sources, named: dict[str, str]) -> None:
    """Raises UsageError where a file that was named, under the path that was typed, holds no program."""
    for file in sources:
        if file.path not in named or file.path.endswith(AUDITED):
            continue
        if not (is_amp_program if file.path.endswith(SUFFIXES) else is_program)(file.data):
            remedy = "name Python files, the YAML that a framework trains by, or the folder of the program"
            raise UsageError("is no Python file", where=named[file.path], remedy=remedy)


class NothingFoundError(UsageError):
    """There is no Python file where one was looked for."""


def nothing_found(named: Iterable[str], sources: Sources) -> NothingFoundError:
    """The error of a check that has nothing to look at."""
    left = ", ".join(f"{each.files} by `{each.rule}`" for each in sources.left_out)
    besides = f"; left out: {left}" if left else ""
    return NothingFoundError("no Python file found", where=", ".join(named), remedy=f"name a file or a folder{besides}")


def _drives(sources: Sources) -> bool:
    """Whether a configuration among the files is a program of its own."""
    from verifygate.configured_precision.drivers import Drivers

    return Drivers.of(sources).are_there


def _paths(sources: Sources) -> Iterable[str]:
    yield from (file.path for file in sources)
    yield from (path for path, _ in sources.unreadable)


def _with_text(sources: Sources, edited: SourceFile) -> Sources:
    """The sources with another text of one file, or with that file in addition."""
    others = [file for file in sources if file.path != edited.path]
    return Sources([*others, edited], sources.unreadable, sources.configuration, left_out=sources.left_out)


def _placed(start: Path, path: str) -> Path:
    """Where a named file lies; that it is a link itself does not matter, that its folder is one does."""
    place = Path(os.path.normpath(start / path))
    return place.parent.resolve() / place.name if place.name else place


def _project_of(places: list[Path], configured: Path | None) -> Path | None:
    """The root of the one project that all these belong to; None where there is none, or several."""
    if configured is not None and all(place.is_relative_to(configured) for place in places):
        return configured
    roots = {_marked(folder) for folder in {place if place.is_dir() else place.parent for place in places}}
    return roots.pop() if len(roots) == 1 else None


def _marked(folder: Path) -> Path | None:
    above = (folder, *folder.parents)
    return next((each for each in above if any((each / name).exists() for name in MARKERS)), None)


def _typist(root: Path, start: Path, named: Iterable[str]) -> Callable[[str], str]:
    if any(Path(each).is_absolute() for each in named):
        return lambda path: (root / path).as_posix()
    return lambda path: Path(os.path.relpath(root / path, start)).as_posix()


def _is_below(path: str, folders: frozenset[str]) -> bool:
    """Whether a path is one of them or lies below one: there may be thousands, so each of its parents is looked up."""
    if "." in folders or path in folders:
        return True
    end = path.rfind("/")
    while end > 0:
        if path[:end] in folders:
            return True
        end = path.rfind("/", 0, end)
    return False
