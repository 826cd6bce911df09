"""What nobody has read, and what may train all the same: then "nothing found" would be a claim about it.

A file that is no Python counts if it names AMP, if a merge left it unfinished, or if a command of the tree starts it.
Where no source trains, and a command hands a file with a precision to a tool, that file is the program.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator

from verifygate.base.errors import UsageError
from verifygate.base.records import replace
from verifygate.configured_precision.commands import logical_lines
from verifygate.configured_precision.drivers import Drivers
from verifygate.configured_precision.read import train
from verifygate.model import NotAnalysed
from verifygate.sources.tree import Sources

_MARKERS = re.compile(rb"^<<<<<<< .*^=======\s*$.*^>>>>>>> ", re.MULTILINE | re.DOTALL)
_CI = (".yml", ".yaml")
"""How scripts end whose lines name files for many ends: what CI caches, copies, uploads."""
_PYTHON = re.compile(r"\b(?:python[\d.]*|torchrun|accelerate|deepspeed|srun)\s")


def with_what_may_train(lost: Iterable[NotAnalysed], sources: Sources, drivers: Drivers) -> tuple[NotAnalysed, ...]:
    """The files that could not be analysed, those that may train marked, with what a tool trains by that none knows,
    and the configurations that cannot be read. Where a source trains, such a file may be a template of it."""
    by_a_tool = _trained_by_a_tool(sources)
    known = _known(drivers)
    trains = bool(drivers.lost) and train(sources)
    unread = [
        NotAnalysed(path=path, reason=f"{how}: such a tool is not read", mentions_amp=True)
        for path, how in by_a_tool.items()
        if path not in known
    ]
    unread += [
        NotAnalysed(path=path, reason=f"line {error.line}: {error}", mentions_amp=not trains)
        for path, error in drivers.lost.items()
    ]
    return (*(_seen(each, sources) for each in lost), *unread)


def refuse_settings_alone(sources: Sources) -> None:
    """Raises UsageError where a tool trains from a file, and no source trains: a verdict on the rest would be about
    another program."""
    drivers = Drivers.of(sources)
    known = _known(drivers)
    for path, how in _trained_by_a_tool(sources).items():
        if path not in known:
            remedy = "audit a tree with the code that trains; `verifygate docs limits` says what is read"
            raise UsageError(f"{how}: `run` gives no verdict on it", where=path, remedy=remedy)


def _known(drivers: Drivers) -> set[str]:
    """The files that a known framework trains by, those that they name, and those that it would train by."""
    return drivers.lost.keys() | {path for each in drivers.all() for path in each.files}


def _seen(lost: NotAnalysed, sources: Sources) -> NotAnalysed:
    file = None if lost.mentions_amp else sources.get(lost.path)
    if file is None:
        return lost
    if _MARKERS.search(file.data):
        return replace(lost, mentions_amp=True, reason=f"{lost.reason}: conflict markers of a merge")
    module = lost.path.removesuffix(".py").replace("/", ".")
    for path, number, text in _commands(sources):
        words = text.split()
        if _PYTHON.search(text) and any(_names(word, lost.path, path) or word == module for word in words):
            return replace(lost, mentions_amp=True, reason=f"{lost.reason}; {path}:{number} starts it")
    return lost


def _names(word: str, file: str, script: str) -> bool:
    folders = ("", posixpath.dirname(script))
    return any(posixpath.normpath(posixpath.join(each, word)) == file for each in folders)


def _trained_by_a_tool(sources: Sources) -> dict[str, str]:
    """The files with a precision that a command hands to something that is none of the sources, where none trains; and
    how it does."""
    if train(sources):
        return {}
    settings = {each.path: each for each in sources.configuration if not each.is_script and not each.is_test}
    seen: dict[str, str] = {}
    for path, number, text in _commands(sources) if settings else ():
        if _PYTHON.search(text):
            continue
        for word in text.split()[1:]:
            found = next((each for each in settings if _names(word.rpartition("=")[2], each, path)), None)
            if found is not None and found not in seen and settings[found].mentions_precision:
                tool = next((each for each in text.split() if "=" not in each), "a command")
                seen[found] = f"`{tool}` trains by it ({path}:{number}), and no source here does"
    return seen


def _commands(sources: Sources) -> Iterator[tuple[str, int, str]]:
    """The command lines of shell scripts, with path and number of their first line."""
    for file in sources.configuration:
        if file.is_script and not file.is_test and file.suffix not in _CI:
            for lines in logical_lines(file.lines):
                text = " ".join(part for _, part in lines)
                if text.strip():
                    yield file.path, lines[0][0], text
