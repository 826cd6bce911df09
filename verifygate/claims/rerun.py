"""Run the tests that a report speaks of, in the project's own interpreter, and count."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from verifygate.base.counts import counted
from verifygate.claims.text_files import Tree
from verifygate.process.interpreter import discover_interpreter
from verifygate.process.subject import Subject

SECONDS = 600.0
OPTIONS = ("-q", "-rfE", "--tb=no", "-p", "no:cacheprovider", "--color=no", "-o", "addopts=", "--rootdir=.")
_SUMMARY = re.compile(r"^=*\s*(?P<parts>\d+ \w+(?:, \d+ \w+)*) in [\d.]+s")
_PART = re.compile(r"(\d+) (\w+)")
_NAMED = re.compile(r"^(?:FAILED|ERROR) (\S+)")
_NO_IMPORT = re.compile(r"ModuleNotFoundError|ImportError|No module named")
_NONE_COLLECTED = 5
_NOT_TESTS = frozenset({"warnings", "warning", "deselected"})
SHOWN = 3


@dataclass(frozen=True)
class Rerun:
    """What pytest counted. `problem` says why the run settles nothing."""

    counts: dict[str, int] = field(default_factory=dict)
    named: tuple[str, ...] = ()
    """Tests that failed."""
    problem: str = ""

    @property
    def collected(self) -> int:
        return sum(count for end, count in self.counts.items() if end not in _NOT_TESTS)

    @property
    def told(self) -> str:
        counts = ", ".join(f"{count} {end}" for end, count in self.counts.items() if end not in _NOT_TESTS)
        names = f" ({', '.join(self.named[:SHOWN])}{', …' if len(self.named) > SHOWN else ''})" if self.named else ""
        return counts + names


def runner(tree: Tree) -> Callable[[str], Rerun]:
    """A function that runs the tests at a path below the tree's root, each path once."""
    subject = Subject(tree.root.resolve(), discover_interpreter(tree.root.resolve()))
    done: dict[str, Rerun] = {}

    def run(path: str) -> Rerun:
        if path not in done:
            done[path] = _run(subject, tree, path)
        return done[path]

    return run


def _run(subject: Subject, tree: Tree, path: str) -> Rerun:
    arguments: list[str] = []
    if path:
        target = subject.root / path
        files = tree.named(path)
        if target.is_dir() and target.resolve().is_relative_to(subject.root):
            arguments = [path]
        elif len(files) == 1:
            arguments = [files[0].path]
        else:
            found = counted(len(files), "file") if files else "no file"
            return Rerun(problem=f"the source tree has {found} {path}")
    try:
        ended = subject.run(["-m", "pytest", *OPTIONS, *(f"./{argument}" for argument in arguments)], seconds=SECONDS)
    except OSError as error:
        return Rerun(problem=f"the project's interpreter cannot be started: {error.strerror}")
    return read_summary(ended.stdout_tail, ended.exit_code, ended.ending, Path(subject.root))


def read_summary(output: str, exit_code: int, ending: str, root: Path) -> Rerun:
    """The counts in what pytest printed last."""
    lines = output.splitlines()
    summary = next((found for line in reversed(lines) if (found := _SUMMARY.match(line))), None)
    if exit_code == _NONE_COLLECTED:
        return Rerun(problem="pytest found no test")
    if summary is None or exit_code not in (0, 1):
        if _NO_IMPORT.search(output) or "error" in (summary["parts"] if summary else ""):
            return Rerun(problem="the tests could not be collected here")
        return Rerun(problem=f"pytest did not finish: {ending}")
    counts = {_plural(end): int(count) for count, end in _PART.findall(summary["parts"])}
    named = tuple(match[1].replace(f"{root.as_posix()}/", "") for line in lines if (match := _NAMED.match(line)))
    broken = [line for line in lines if _NAMED.match(line) and _NO_IMPORT.search(line)]
    if broken:
        return Rerun(problem="tests failed because a module is missing here")
    if counts.get("errors"):
        return Rerun(problem=f"{counts['errors']} tests could not be set up here")
    return Rerun(counts, named)


def _plural(end: str) -> str:
    return {"error": "errors", "warning": "warnings"}.get(end, end)
