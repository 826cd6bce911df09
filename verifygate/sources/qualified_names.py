"""Qualified names of functions and classes that hold no line number: `Trainer.step`, and `train#2` for a second one.

Two definitions of one body may share a name: one in each branch of an `if`, a property and its setter. They are
numbered in the order of the source, so that an edit above them renames none. What is defined inside takes its prefix
from the numbered name: `train#2.closure`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_WITH_BLOCKS = frozenset(
    {ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.TryStar, ast.Match}
)
_BLOCKS = ("finalbody", "orelse", "cases", "handlers", "body")
"""The fields of a compound statement that hold statements, last one first."""
_Block = ast.stmt | ast.excepthandler | ast.match_case


def definitions(body: Sequence[ast.stmt]) -> dict[Definition, str]:
    """Name the definitions that a body makes itself, in the order of the source: `train`, `train#2`."""
    found: dict[Definition, str] = {}
    times: dict[str, int] = {}
    for node in _statements(body):
        if isinstance(node, Definition):
            times[node.name] = count = times.get(node.name, 0) + 1
            found[node] = node.name if count == 1 else f"{node.name}#{count}"
    return found


def all_definitions(tree: ast.Module) -> dict[Definition, str]:
    """Name every definition of a file, the inner ones too: `Trainer`, `Trainer.step`, `Trainer.step.closure`."""
    found: dict[Definition, str] = {}
    pending: list[tuple[Sequence[ast.stmt], str]] = [(tree.body, "")]
    while pending:
        body, prefix = pending.pop()
        for node, name in definitions(body).items():
            found[node] = prefix + name
            pending.append((node.body, f"{prefix}{name}."))
    return found


def unnumbered(name: str) -> str:
    """A qualified name as it is written in the source: `Trainer.step` for `Trainer#2.step#3`."""
    return ".".join(part.partition("#")[0] for part in name.split("."))


def _statements(body: Sequence[ast.stmt]) -> Iterator[_Block]:
    """Statements of a body, and of the `if`, `try`, `with`, `match` and loops in it, but of no function or class."""
    stack: list[_Block] = list(reversed(body))
    while stack:
        node = stack.pop()
        yield node
        if node.__class__ in _WITH_BLOCKS or isinstance(node, ast.excepthandler | ast.match_case):
            for field in _BLOCKS:
                stack += reversed(getattr(node, field, ()))
