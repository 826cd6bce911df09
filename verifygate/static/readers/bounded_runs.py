"""The runs of a tree that a report can wait for: what matters most first, and no more steps than the tree is large.

Of a file only its bytes decide whether it is run, so that nothing is parsed for what no reader says anything of.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from verifygate.base.records import record
from verifygate.sources.file import SourceFile
from verifygate.static.machine.call import Library
from verifygate.static.machine.core import Limits
from verifygate.static.machine.programs import Run, runs_of
from verifygate.static.symbols.program import Program

_HALF = re.compile(rb"\bhalf\b|float16|fp16|bf16|autocast|16-true")
"""What a file names that makes a tensor half. No reader has anything to say of a program without it, or a model's."""
_OF_ONE = Limits(steps=20_000)
_LEAST = 40_000
"""Steps that any tree may take: some two seconds."""
_BYTES_OF_A_STEP = 16
"""More for a larger tree: two or three steps for each of its lines,"""
_MOST = 100_000
"""and no more than these: some six seconds."""


@record
class NotRun:
    """Entries that were not run, or not to their end, for one reason."""

    reason: str
    first: str
    """The path of the first of them."""
    count: int


def bounded_runs(program: Program, libraries: Sequence[Library]) -> Iterator[Run]:
    """Programs first, scripts before modules that nobody imports, then functions by themselves; tests are not run."""
    sources = [file for file in program.sources if not file.is_test]
    words = _words(libraries)
    half = {file.path for file in sources if words.search(file.data)}
    if not half:
        return iter(())
    graph = program.import_graph
    leading = {file.path for file in sources if file.is_script or not graph.is_imported(file.path)}
    entries = {path for path in leading if path in half or any(each in graph.closure(path) for each in half)}
    ordered = sorted((file for file in sources if file.path in half | entries), key=lambda file: _weight(file, half))
    most = min(_MOST, max(_LEAST, sum(file.size for file in sources) // _BYTES_OF_A_STEP))
    return runs_of(program, [file.path for file in ordered], libraries, _OF_ONE, most)


def _words(libraries: Iterable[Library]) -> re.Pattern[bytes]:
    """Those of half precision, and the packages that the project has a model of, which may make something half."""
    packages = {name.partition(".")[0].encode() for each in libraries for name in each.replaced}
    return re.compile(b"|".join([_HALF.pattern, *(rb"\b%b\b" % re.escape(each) for each in sorted(packages))]))


def _weight(file: SourceFile, half: set[str]) -> tuple[bool, bool, str]:
    return not file.is_script, file.path not in half, file.path


def not_run(runs: Iterable[Run]) -> list[NotRun]:
    """What was not run to its end, by reason, in the order in which it came."""
    found: dict[str, list[str]] = {}
    for each in runs:
        if each.outcome.ended:
            found.setdefault(each.outcome.ended, []).append(each.outcome.entry.path)
    return [NotRun(reason, paths[0], len(paths)) for reason, paths in found.items()]
