"""The contracts of what is named: that of the programs, and one of each configuration that is a program of its own."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from verifygate.base.errors import UsageError
from verifygate.check.configurations import with_drivers
from verifygate.check.project import HERE, NothingFoundError, read_asked
from verifygate.check.report_scope import as_typed, within
from verifygate.check.run import not_analysed_lines, report_of
from verifygate.check.settings import Judged
from verifygate.config.tree_versions import versions_of_tree
from verifygate.configured_precision.drivers import Driver, Drivers, changed
from verifygate.configured_precision.launches import DOCUMENTS
from verifygate.model.check_report import CheckReport
from verifygate.model.precision_contract import PrecisionContract, altered
from verifygate.sources import git
from verifygate.sources.discovery import configuration_below, is_noted
from verifygate.sources.repository import folder_in_repository

_REMEDY = "see `verifygate docs precision-contract` for the frameworks whose configuration is read"


class Contracts(NamedTuple):
    """What `verifygate contract` shows."""

    programs: PrecisionContract
    drivers: list[Driver]
    changes: list[str] | None
    """The cells that moved; None where no revision was named."""
    lost: tuple[str, ...]
    """What could not be read, a line each."""
    is_partial: bool
    """Whether something that may train was not read: then this is no answer."""


def contracts_of(paths: tuple[str, ...], start: Path, found: Judged, root: Path | None, since: str) -> Contracts:
    """The contracts of these files and folders, as people here would type their paths. Raises UsageError."""
    named = paths or HERE
    files = [each for each in named if each.endswith(DOCUMENTS) and not (start / each).is_dir()]
    for each in files:
        if not (start / each).is_file():
            problem = "is no regular file" if (start / each).exists() else "no such file"
            raise UsageError(problem, where=each, remedy="give a path that exists")
    others = tuple(each for each in named if each not in files)
    around = _around(named, start)
    shown = _shown(around, start)
    below = frozenset(os.path.relpath(start / each, around).replace(os.sep, "/") for each in named)
    by_name = frozenset(os.path.relpath(start / each, around).replace(os.sep, "/") for each in files)
    read = Drivers(configuration_below(around, found.exclusion, by_name), by_name)
    drivers = _below(read, below)
    for each in files:
        _refuse_unknown(each, os.path.relpath(start / each, around).replace(os.sep, "/"), read, drivers)
    lost = tuple(
        f"{shown(path)}:{error.line}: cannot be read: {error} (correct it, or leave it out by `[project] exclude`)"
        for path, error in read.broken.items()
        if _is_below(path, below)
    )
    commit = git.merge_base(around, since) if since else ""
    programs = PrecisionContract()
    report_lost: tuple[str, ...] = ()
    moved: list[str] = []
    is_partial = bool(lost)
    if others:
        try:
            report, moved = _programs(others, start, found, root, commit)
        except NothingFoundError:
            if not drivers and not lost:
                raise
        else:
            programs, report_lost = report.contract, not_analysed_lines(report.not_analysed)
            is_partial |= any(each.mentions_amp for each in report.not_analysed)
    changes = None
    if commit:
        kept = [
            each
            for each in git.configuration_at(around, commit)
            if is_noted(around, each.path, {".", *by_name}) and not found.exclusion.leaves_out(each.path)
        ]
        before = [each for each in _below(Drivers(kept, by_name), below) if each.path not in read.broken]
        changes = [*moved, *changed(before, drivers)]
    unread = tuple(
        f"{shown(each.path)}:{each.line}: not followed: {each.reason}"
        for each in read.unread
        if _is_below(each.path, below)
    )
    lost = (*lost, *unread, *report_lost)
    return Contracts(programs, [each.shown(shown) for each in drivers], changes, lost, is_partial)


def _below(read: Drivers, folders: frozenset[str]) -> list[Driver]:
    """The drivers that lie in these folders, or that a command there launches."""
    drivers = ((each, (each.path, *(each.launched or ())[:1])) for each in read.all())
    return [each for each, paths in drivers if any(_is_below(path, folders) for path in paths)]


def _programs(
    paths: tuple[str, ...], start: Path, found: Judged, root: Path | None, commit: str
) -> tuple[CheckReport, list[str]]:
    """The contract of the Python programs, and what of it moved since a commit."""
    from verifygate.base.records import replace
    from verifygate.static.engine import Means, analyse
    from verifygate.static.machine.libraries import libraries_for
    from verifygate.static.readers.filled_contract import filled
    from verifygate.static.symbols.program import Program

    rooted = bool(commit or (root and start != root))
    asked = read_asked(paths, start, found.exclusion, root, found.sources, rooted=rooted)
    rules = found.written.allowing(versions_of_tree(asked.sources.paths, asked.root))
    libraries = libraries_for(rules)
    about = asked.is_asked if asked.scope is not None and not asked.settings else None
    outcome = analyse(asked.sources, rules, with_constructs=False, about=about, means=Means(lets_go=True))
    report = report_of(outcome, folder_in_repository(start))
    if asked.settings:
        with_drivers(report, asked)  # it refuses a file that nothing here reads
    report = within(report, asked)
    program = Program(asked.sources, dict.fromkeys(asked.sources.paths))
    contract = filled(report.contract, program, libraries)
    report = replace(report, contract=contract)
    moved: list[str] = []
    if commit:
        from verifygate.change.base_findings import BaseFindings

        base = BaseFindings.at(asked.root, commit, asked.is_audited, found.written)
        moved = list(altered(base.analysed.contract, outcome.contract))
    return as_typed(report, asked.as_typed), moved


def _refuse_unknown(typed: str, path: str, read: Drivers, drivers: list[Driver]) -> None:
    """Raises UsageError where a file that was named has no contract."""
    if (error := read.broken.get(path)) is not None:
        raise UsageError(f"cannot be read: {error}", where=f"{typed}:{error.line}", remedy="correct the file")
    if not any(each.path == path for each in drivers):
        problem = "its keys are of no framework that trains by a file, and no command line here hands it to one"
        raise UsageError(problem, where=f"{typed}:1", remedy=_REMEDY)


def _around(named: tuple[str, ...], start: Path) -> Path:
    """The folder whose files may launch what is named, or be named by it: this one, or else that of what is named."""
    places = [Path(os.path.normpath(start / each)) for each in named]
    if all(each.is_relative_to(start) for each in places):
        return start
    folders = {each if each.is_dir() else each.parent for each in places}
    return folders.pop() if len(folders) == 1 else Path(os.path.commonpath(folders))


def _shown(around: Path, start: Path) -> Callable[[str], str]:
    if around == start:
        return lambda path: path
    return lambda path: Path(os.path.relpath(around / path, start)).as_posix()


def _is_below(path: str, folders: frozenset[str]) -> bool:
    return any(each in (".", path) or path.startswith(f"{each}/") for each in folders)
