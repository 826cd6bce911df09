"""Entries: where runs begin, and which of them may reach a line."""

from __future__ import annotations

import ast

from verifygate.base.records import record
from verifygate.static.symbols.program import Program

_MOST_PROGRAMS = 8
"""Programs that are run to tell what reaches a line."""


@record
class Entry:
    """Where a run begins: a file that runs as a program, or one of its functions that is run by itself."""

    path: str
    symbol: str = ""
    """`train` or `Trainer.train`; empty for the program."""

    def __str__(self) -> str:
        return f"{self.symbol} of {self.path}, by itself" if self.symbol else self.path


def entries_at(program: Program, path: str, line: int) -> tuple[Entry, ...]:
    """What may reach a line: the programs that load its file, then the function around it by itself."""
    graph = program.import_graph
    files = [file for file in program.sources if path in graph.closure(file.path)]
    scripts = [file.path for file in files if file.is_script or not graph.is_imported(file.path)]
    found = [Entry(each) for each in dict.fromkeys([*([path] if path in scripts else []), *scripts[:_MOST_PROGRAMS]])]
    symbol = _around(program, path, line)
    return (*found, *([Entry(path, symbol)] if symbol else []))


def _around(program: Program, path: str, line: int) -> str:
    """The function or method around a line, if it stands at the top level of the file or of a class."""
    module = program.module(path)
    body = module.tree.body if module is not None else []
    names: list[str] = []
    while node := next((each for each in body if _holds(each, line)), None):
        names.append(node.name)  # type: ignore[attr-defined]
        if not isinstance(node, ast.ClassDef):
            return ".".join(names)
        body = node.body
    return ""


def _holds(node: ast.stmt, line: int) -> bool:
    """Whether a definition holds a line."""
    is_definition = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    return is_definition and node.lineno <= line <= (node.end_lineno or 0)
