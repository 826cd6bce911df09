"""Say which tests execute which function of the files that hold AMP code, or code marked as a requirement's.

A function counts as executed by a test when a line of its body ran while that test was running. Two things follow,
and a reader should know them: what a shared fixture runs counts for the first test that asked for it, and what a test
runs in a process of its own (a script it starts, a data loader's worker) is not seen.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from verifygate.execution.scrub import Scrubber
from verifygate.model import FunctionCoverage
from verifygate.sources.file import SourceFile, SourceUnreadableError
from verifygate.sources.qualified_names import all_definitions

Lines = Mapping[int, Sequence[str]]
"""Line -> the tests that executed it."""


class CoverageUnreadableError(Exception):
    """The run left no usable coverage data; the message says why."""


@dataclass(frozen=True)
class Function:
    """A function in the source, and the lines that only run when it is called."""

    symbol: str
    line: int
    end_line: int
    body: frozenset[int]


def executed_lines(data: Path) -> dict[str, Lines]:
    """Absolute path -> lines and tests, as coverage saved them. Raises CoverageUnreadableError."""
    import coverage

    if not data.exists():
        raise CoverageUnreadableError("the run ended before its coverage was saved")
    try:
        saved = coverage.CoverageData(basename=str(data))
        saved.read()
        return {path: saved.contexts_by_lineno(path) for path in saved.measured_files()}
    except coverage.exceptions.CoverageException as error:
        raise CoverageUnreadableError(f"its coverage data cannot be read: {type(error).__name__}") from error


def attribute(
    files: Sequence[SourceFile],
    root: Path,
    executed: Mapping[str, Lines],
    scrubber: Scrubber,
    emulated: Mapping[str, Lines] | None = None,
) -> tuple[FunctionCoverage, ...]:
    """Every function of `files` with the tests that execute it, in order of place; `tests` is empty where none does.

    `emulated` are the lines that the tests executed which ran again with CUDA emulated.
    """
    by_file = {Path(path).resolve(): lines for path, lines in executed.items()}
    there = {Path(path).resolve(): lines for path, lines in (emulated or {}).items()}
    return tuple(
        FunctionCoverage(
            path=file.path,
            symbol=function.symbol,
            line=function.line,
            end_line=function.end_line,
            tests=tuple(sorted({scrubber.identity(test) for test in _tests(function, by_file.get(path, {}))})),
            emulated=tuple(sorted({scrubber.identity(test) for test in _tests(function, there.get(path, {}))})),
        )
        for file in files
        for path in ((root / file.path).resolve(),)
        for function in functions(file)
    )


def functions(file: SourceFile) -> list[Function]:
    """The functions of a file, in order of line; none where it does not parse.

    A function whose body shares its only line with its `def` is left out: coverage cannot tell a call from the import.
    """
    try:
        tree = ast.parse(file.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError, SourceUnreadableError):
        return []
    return sorted(_functions(tree), key=lambda function: (function.line, function.symbol))


def _functions(tree: ast.Module) -> Iterator[Function]:
    for node, symbol in all_definitions(tree).items():
        if not isinstance(node, ast.ClassDef) and (body := _body(node)):
            yield Function(symbol, node.lineno, node.end_lineno or node.lineno, body)


def _body(function: ast.FunctionDef | ast.AsyncFunctionDef) -> frozenset[int]:
    """The lines below the signature, without those of the bodies of functions defined inside."""
    signature = max(
        [function.lineno, *(node.end_lineno or 0 for node in ast.walk(function.args) if isinstance(node, ast.expr))]
        + [argument.end_lineno or 0 for argument in ast.walk(function.args) if isinstance(argument, ast.arg)]
        + ([function.returns.end_lineno or 0] if function.returns else [])
    )
    lines = set(range(signature + 1, (function.end_lineno or signature) + 1))
    for node in ast.walk(function):
        if node is not function and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            lines -= set(range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1))
    return frozenset(lines)


def _tests(function: Function, lines: Lines) -> set[str]:
    return {test for line in function.body for test in lines.get(line, ()) if test}
