"""The audited tree as the rules of this stage see it: parsed modules, calls by qualified names, files of text."""

from __future__ import annotations

import ast
import os
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from verifygate.base.regular_files import read_regular
from verifygate.config.rule_selection import ALL_RULES, RuleSelection
from verifygate.sources.file import SourceFile, SourceUnreadableError, is_encodable
from verifygate.sources.import_resolution import ImportResolver
from verifygate.sources.tree import Sources

MAX_TEXT_BYTES = 512 * 1024
"""A larger file is data: no person wrote a secret or a dependency into it."""
_LEFT_OUT = frozenset({".git", ".pytest_cache", "node_modules", "__pycache__", "site-packages"})
"""Folders with nothing in them that a person wrote."""

Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.Module


@dataclass(frozen=True)
class Call:
    """A call, the function that it stands in, and the qualified name of what is called: `torch.load`."""

    module: Module
    node: ast.Call
    callee: str
    scope: Scope
    symbol: str
    """The qualified name of the function; empty at module level."""
    guarded: bool = False
    """Whether it stands below `if __name__ == "__main__"`."""

    def argument(self, name: str, position: int | None = None) -> ast.expr | None:
        """The argument of that keyword, or at that position; None where it is not given."""
        for keyword in self.node.keywords:
            if keyword.arg == name:
                return keyword.value
        if position is not None and position < len(self.node.args):
            return self.node.args[position]
        return None

    @property
    def unpacks(self) -> bool:
        """Whether arguments come out of a dict: `load(path, **options)`."""
        return any(keyword.arg is None for keyword in self.node.keywords)


@dataclass(frozen=True)
class Module:
    """A file that parses."""

    file: SourceFile
    tree: ast.Module

    @cached_property
    def names(self) -> Mapping[str, str]:
        """Name in the module -> what an import binds it to: `np` -> `numpy`, `load` -> `torch.load`."""
        found: dict[str, str] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    bound = alias.asname or alias.name.partition(".")[0]
                    found[bound] = alias.name if alias.asname else bound
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
        return found

    def qualified(self, node: ast.expr) -> str:
        """`torch.load` for a name or an attribute that an import leads to; empty for anything else."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return f".{parts[0]}" if parts else ""
        return ".".join([self.names.get(node.id, node.id), *reversed(parts)])

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        """Every call, with where it stands."""
        return tuple(self._calls(self.tree, self.tree, "", guarded=False))

    def _calls(self, node: ast.AST, scope: Scope, symbol: str, *, guarded: bool) -> Iterator[Call]:
        for child in ast.iter_child_nodes(node):
            inner, name, below = scope, symbol, guarded
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                inner, name = child, f"{symbol}.{child.name}" if symbol else child.name
            elif isinstance(child, ast.ClassDef):
                name = f"{symbol}.{child.name}" if symbol else child.name
            elif isinstance(child, ast.If) and "__name__" in ast.dump(child.test):
                below = True
            if isinstance(child, ast.Call):
                of = symbol if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef) else ""
                yield Call(self, child, self.qualified(child.func), scope, of, guarded)
            yield from self._calls(child, inner, name, guarded=below)


class AuditedTree:
    """All that the rules look at. Nothing is imported or run."""

    def __init__(self, root: Path, sources: Sources, selection: RuleSelection = ALL_RULES) -> None:
        self.root = root
        self.sources = sources
        self.torch_for = selection.torch_for
        """Path -> the versions of torch that the file may run on, as `config.version_pins` writes them; empty if
        unknown."""

    @cached_property
    def modules(self) -> tuple[Module, ...]:
        """The files that parse; what does not is the static stage's to tell."""
        found = []
        for file in self.sources:
            if file.is_test or file.twin:
                continue
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found.append(Module(file, ast.parse(file.text)))
            except (SyntaxError, ValueError, RecursionError, MemoryError, SourceUnreadableError):
                continue
        return tuple(found)

    @cached_property
    def imported(self) -> frozenset[str]:
        """Paths of the files that another file of the tree imports."""
        resolver = ImportResolver(self.sources)
        found: set[str] = set()
        for module in self.modules:
            for node in ast.walk(module.tree):
                if isinstance(node, ast.Import):
                    for alias in node.names:
                        resolved = resolver.resolved(alias.name, module.file)
                        found.update(resolved.files if resolved else ())
                elif isinstance(node, ast.ImportFrom):
                    names = [alias.name for alias in node.names]
                    resolved = resolver.resolved(node.module or "", module.file, node.level, names)
                    found.update(resolved.files if resolved else ())
        return frozenset(found)

    def line(self, path: str, line: int) -> str:
        """The stripped text of a line; empty where there is none."""
        if self.sources.get(path) is not None:
            return self.sources.line(path, line)
        lines = self.texts.get(path, "").splitlines()
        return lines[line - 1].strip() if 0 < line <= len(lines) else ""

    @cached_property
    def texts(self) -> Mapping[str, str]:
        """Path -> text of every file that a person may have written, Python or not."""
        found: dict[str, str] = {}
        for where, names, files in os.walk(self.root):
            folder = Path(where)
            names[:] = sorted(each for each in names if not _is_left_out(folder / each))
            for name in sorted(files):
                path = folder / name
                relative = path.relative_to(self.root).as_posix()
                if is_encodable(relative) and (text := _text(path)) is not None:
                    found[relative] = text
        return found


def _is_left_out(folder: Path) -> bool:
    return folder.name in _LEFT_OUT or (folder / "pyvenv.cfg").exists()


def _text(path: Path) -> str | None:
    """The text of a regular file of a usual size; None for anything else."""
    try:
        if path.is_symlink():
            return None
        data = read_regular(path, MAX_TEXT_BYTES)
    except OSError:
        return None
    if b"\0" in data:
        return None
    return data.decode("utf-8", "replace")
