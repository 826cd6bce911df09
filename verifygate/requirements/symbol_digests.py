"""Functions and classes by qualified name, each with a digest of what it says and not of how it is laid out.

A line number moves with every edit above it, so nothing that has to last is tied to one. The digest is taken over the
syntax tree without positions: formatting, comments and docstrings do not change it; an identifier, a constant, a
decorator or the order of two statements does. A symbol's own name stays out of its digest, so that one that was only
renamed, or moved to another file, is known again.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from verifygate.sources.file import SourceFile, SourceUnreadableError
from verifygate.sources.qualified_names import Definition, all_definitions
from verifygate.sources.tree import Sources

MODULE = "<module>"
"""The symbol of what stands in a file outside of every function and class, by Python's own name for it."""
_LAYOUT = frozenset({"ctx", "kind", "type_comment", "type_ignores"})
"""Fields that say nothing which the rest of the tree does not."""


@dataclass(frozen=True)
class Symbol:
    """A function, a class, or what is left of a file without them."""

    path: str
    name: str
    """Qualified in its file: `Trainer.step`; a second one of the same name is `Trainer.step#2`."""
    line: int
    end_line: int
    digest: str
    first_line: int
    """Of its decorators, where it has any."""

    @property
    def id(self) -> str:
        """`train.py::Trainer.step`: what a link is tied to."""
        return f"{self.path}::{self.name}"


class FileSymbols:
    """The symbols of one file. Raises SourceUnreadableError where it is no Python."""

    def __init__(self, file: SourceFile) -> None:
        self.path = file.path
        self._tree = _parsed(file)
        self._module = Symbol(file.path, MODULE, 1, max(1, len(file.lines)), _digest(self._tree), 1)
        self._defined = sorted(self._found(), key=lambda symbol: (symbol.first_line, -symbol.end_line))

    def __iter__(self) -> Iterator[Symbol]:
        yield self._module
        yield from self._defined

    def get(self, name: str) -> Symbol | None:
        return next((symbol for symbol in self if symbol.name == name), None)

    def at(self, line: int) -> Symbol:
        """The innermost symbol around a line; a decorator's line belongs to what it decorates."""
        around = [symbol for symbol in self._defined if symbol.first_line <= line <= symbol.end_line]
        return min(around, key=lambda symbol: symbol.end_line - symbol.first_line, default=self._module)

    def _found(self) -> Iterator[Symbol]:
        for node, name in all_definitions(self._tree).items():
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            yield Symbol(self.path, name, node.lineno, node.end_lineno or node.lineno, _digest(node), first)


class Symbols:
    """The symbols of all sources, read file by file when something asks."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._files: dict[str, FileSymbols | str] = {}

    def of(self, path: str) -> FileSymbols | None:
        """The symbols of a file; None where it is not among the sources, or no Python."""
        found = self._read(path)
        return found if isinstance(found, FileSymbols) else None

    def problem(self, path: str) -> str:
        """Why a file has no symbols; empty where it has."""
        found = self._read(path)
        return found if isinstance(found, str) else ""

    def get(self, identifier: str) -> Symbol | None:
        """The symbol of an id, `train.py::Trainer.step`."""
        path, _, name = identifier.rpartition("::")
        found = self.of(path)
        return found.get(name) if found else None

    @cached_property
    def by_digest(self) -> dict[str, tuple[Symbol, ...]]:
        """Digest -> every function and class that has it, in order of place. Reads every file."""
        found: dict[str, list[Symbol]] = {}
        for file in self._sources:
            for symbol in self.of(file.path) or ():
                if symbol.name != MODULE:
                    found.setdefault(symbol.digest, []).append(symbol)
        return {digest: tuple(symbols) for digest, symbols in found.items()}

    def _read(self, path: str) -> FileSymbols | str:
        if path not in self._files:
            file = self._sources.get(path)
            try:
                self._files[path] = FileSymbols(file) if file else "it is not among the audited sources"
            except SourceUnreadableError as error:
                self._files[path] = str(error)
        return self._files[path]


def _parsed(file: SourceFile) -> ast.Module:
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the audited code's own SyntaxWarnings are no business of the gate
            return ast.parse(file.text)
    except SyntaxError as error:
        raise SourceUnreadableError(f"line {error.lineno or 1}: {error.msg}") from error
    except (RecursionError, MemoryError, ValueError) as error:
        raise SourceUnreadableError(f"nested too deeply or not parsable ({type(error).__name__})") from error


def _digest(root: ast.Module | Definition) -> str:
    """24 hexadecimal digits of sha256 over the tree: 96 bits, so that two symbols never share one by chance."""
    whole = hashlib.sha256()
    stack: list[ast.AST | str] = [root]
    while stack:  # no recursion: a long sum is as deep as it is long
        part = stack.pop()
        if isinstance(part, str):
            whole.update(part.encode("utf-8", "backslashreplace"))
        else:
            stack += reversed(_parts(part, root))
    return whole.hexdigest()[:24]


def _parts(node: ast.AST, root: ast.AST) -> list[ast.AST | str]:
    """A node as text and nodes. In a module's own symbol, a function or class is no more than its name."""
    if isinstance(node, ast.Constant):
        return [f"{type(node.value).__name__}:{_literal(node.value)};"]
    if isinstance(root, ast.Module) and isinstance(node, Definition):
        return [f"define {node.name};"]
    parts: list[ast.AST | str] = [f"{type(node).__name__}("]
    for field, value in ast.iter_fields(node):
        if field in _LAYOUT or value is None or value == [] or (node is root and field == "name"):
            continue  # an absent field and an empty one are the same: Python 3.12 and 3.13 added some
        values = _without_docstring(node, value) if field == "body" else value
        parts.append(f"{field}=")
        parts += [_part(each) for each in values] if isinstance(values, list) else [_part(values)]
    return [*parts, ")"]


def _part(value: object) -> ast.AST | str:
    """A node as it is; None in a list (a keyword-only parameter without default) and plain values as text."""
    return value if isinstance(value, ast.AST) else f"{value!r};"


def _literal(value: object) -> str:
    """The value, in full: Python refuses to print integers of thousands of digits in decimal."""
    return hex(value) if isinstance(value, int) else repr(value)


def _without_docstring(node: ast.AST, body: object) -> object:
    if not (isinstance(body, list) and body and isinstance(node, ast.Module | Definition)):
        return body
    first = body[0]
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return body[1:] if documented and isinstance(first.value.value, str) else body
