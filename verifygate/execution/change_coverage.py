"""The lines of AMP code that a change brings, and which of them no test reaches."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from verifygate.execution.attribution import Lines
from verifygate.model import Check, Evidence, EvidenceClass, Status
from verifygate.sources.file import AMP_WORDS, SourceFile, SourceUnreadableError

ID = "execution.changed-lines"
SHOWN = 50
Function = ast.FunctionDef | ast.AsyncFunctionDef
SILENT = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef, ast.Pass, ast.Global, ast.Nonlocal)
"""Statements of which a trace tells nothing, or nothing more than that the module was imported."""


@dataclass(frozen=True)
class Statement:
    """A statement without those that stand inside it: the lines from its first to the last before its body."""

    line: int
    last: int
    inside: bool
    """Whether it stands in a function, and so runs only when that is called."""


def changed_statements(file: SourceFile, before: SourceFile | None) -> list[Statement]:
    """The changed or new statements of functions that hold AMP code, and those outside that are AMP code themselves.

    None where the file cannot be parsed: the static stage says so.
    """
    try:
        tree = ast.parse(file.text)
        lines = file.lines
        old = before.lines if before is not None else []
    except (SyntaxError, ValueError, RecursionError, MemoryError, SourceUnreadableError):
        return []
    changed = _changed(old, lines)
    return [
        each for each in _statements(tree, lines) if any(line in changed for line in range(each.line, each.last + 1))
    ]


def reached(statement: Statement, lines: Lines) -> bool:
    """Whether a test executes it; outside of functions, whether anything does."""
    tests = [test for line in range(statement.line, statement.last + 1) for test in lines.get(line, ())]
    return any(tests) if statement.inside else bool(tests)


def changed_lines_are_tested(
    files: Sequence[SourceFile],
    before: Mapping[str, SourceFile],
    root: Path,
    executed: Mapping[str, Lines] | None,
    gap: str,
    emulated: Mapping[str, Lines] | None = None,
) -> Check:
    """`execution.changed-lines`: every AMP line that changed since the revision is executed by a test.

    `executed` are the lines that coverage saw, by absolute path; None where there are none, for the reason `gap`.
    `emulated` are those that it saw where tests ran again with CUDA emulated.
    """
    changed = {file.path: found for file in files if (found := changed_statements(file, before.get(file.path)))}
    total = sum(map(len, changed.values()))
    by_file = {Path(path).resolve(): lines for path, lines in (executed or {}).items()}
    there = {Path(path).resolve(): lines for path, lines in (emulated or {}).items()}
    missed = [
        (path, each.line, reached(each, there.get((root / path).resolve(), {})))
        for path, found in changed.items()
        for each in found
        if not reached(each, by_file.get((root / path).resolve(), {}))
    ]
    only_there = sum(is_there for _, _, is_there in missed)
    if not total:
        status, actual = Status.NOT_APPLICABLE, "no line of AMP code changed"
    elif executed is None:
        status, actual = Status.NOT_MEASURED, f"nobody knows which of {total} changed lines a test reaches: {gap}"
    elif missed:
        status, actual = Status.PARTIAL, f"no test reaches {len(missed) - only_there} of {total} changed lines"
        actual += f"; only emulated tests reach {only_there}" if only_there else ""
    else:
        status, actual = Status.PASS, f"tests reach all {total} changed lines"
    shown = missed[:SHOWN] if executed is not None else []
    return Check(
        id=ID,
        title="Tests reach the AMP lines that changed",
        status=status,
        required=False,
        expected="a test executes every changed statement of the functions that hold AMP code",
        actual=actual,
        evidence=tuple(
            Evidence(
                id=f"E-{ID}-{number}",
                kind=EvidenceClass.EXECUTED,
                summary=f"changed, and {'only emulated tests execute' if is_there else 'no test executes'} it",
                path=path,
                line=line,
            )
            for number, (path, line, is_there) in enumerate(shown, 1)
        ),
        remedy="write a test that runs them" if status is Status.PARTIAL else "",
    )


def _changed(old: Sequence[str], new: Sequence[str]) -> set[int]:
    """Numbers of the lines of `new` that `old` has not, from 1. Blank lines and space around a line do not matter."""
    numbers = [number for number, line in enumerate(new, 1) if line.strip()]
    former = [line.strip() for line in old if line.strip()]
    matcher = difflib.SequenceMatcher(None, former, [new[number - 1].strip() for number in numbers], autojunk=False)
    return {
        numbers[place]
        for kind, _, _, start, end in matcher.get_opcodes()
        if kind in ("replace", "insert")
        for place in range(start, end)
    }


def _statements(tree: ast.Module, lines: Sequence[str]) -> Iterator[Statement]:
    """Statements of AMP code in order of line."""
    pending: list[tuple[ast.AST, Function | None]] = [(tree, None)]
    found = []
    while pending:
        node, function = pending.pop()
        for child in ast.iter_child_nodes(node):
            inner = child if isinstance(child, Function) else function
            pending.append((child, inner))
            if not isinstance(child, ast.stmt) or isinstance(child, SILENT) or _is_text(child):
                continue
            last = _last(child)
            around = (function.lineno, function.end_lineno or function.lineno) if function else (child.lineno, last)
            if AMP_WORDS.found_in("\n".join(lines[around[0] - 1 : around[1]]).encode("utf-8", "replace")):
                found.append(Statement(child.lineno, last, function is not None))
    yield from sorted(found, key=lambda each: each.line)


def _last(statement: ast.stmt) -> int:
    """The last line that is the statement's own."""
    bodies = [getattr(statement, name, []) for name in ("body", "handlers", "cases")]
    first = [
        inner.lineno if hasattr(inner, "lineno") else inner.pattern.lineno for body in bodies for inner in body[:1]
    ]
    return max(statement.lineno, min(first) - 1) if first else statement.end_lineno or statement.lineno


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
