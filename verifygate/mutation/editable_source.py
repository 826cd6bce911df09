"""A source file that can be edited by whole statements and by expressions, so that all the rest stays as it is."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from verifygate.sources.file import SourceFile
from verifygate.sources.qualified_names import all_definitions


class Code:
    """One file, its tree, and the places in it. Raises SyntaxError, or SourceUnreadableError, for what is no Python."""

    def __init__(self, file: SourceFile) -> None:
        self.path = file.path
        self.lines = file.lines
        self.tree = ast.parse(file.text)
        self._parents = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """Everything around a node, inside out."""
        while (parent := self._parents.get(node)) is not None:
            yield parent
            node = parent

    def symbol(self, node: ast.AST) -> str:
        """The qualified name of the innermost function or class around a node; empty at the top level."""
        return next((self._symbols[here] for here in self.above(node) if here in self._symbols), "")

    @cached_property
    def _symbols(self) -> Mapping[ast.AST, str]:
        return dict(all_definitions(self.tree).items())

    @cached_property
    def calls(self) -> list[ast.Call]:
        """Every call, in order of place."""
        found = [node for node in ast.walk(self.tree) if isinstance(node, ast.Call)]
        return sorted(found, key=lambda call: (call.lineno, call.col_offset, -(call.end_lineno or 0)))

    def calls_at(self, line: int) -> list[ast.Call]:
        return [call for call in self.calls if call.lineno == line]

    def statement(self, node: ast.AST) -> ast.stmt | None:
        """The statement that a node is part of, if it has its lines for itself."""
        for here in (node, *self.above(node)):
            if isinstance(here, ast.stmt):
                return here if self._alone(here) else None
        return None

    def block(self, statement: ast.stmt) -> list[ast.stmt]:
        """The statements beside one, itself too."""
        parent = self._parents[statement]
        for name in ("body", "orelse", "finalbody"):
            beside = getattr(parent, name, None)
            if isinstance(beside, list) and statement in beside:
                return beside
        return [statement]

    def function(self, node: ast.AST) -> ast.AST:
        """The function around a node, or the module."""
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
        return next((here for here in self.above(node) if isinstance(here, kinds)), self.tree)

    def loop(self, node: ast.AST, *, outermost: bool = False) -> ast.For | ast.While | None:
        """The loop around a node, in the same function."""
        found: ast.For | ast.While | None = None
        for here in self.above(node):
            if isinstance(here, ast.FunctionDef | ast.AsyncFunctionDef):
                break
            if isinstance(here, ast.For | ast.While):
                found = here
                if not outermost:
                    break
        return found

    def text(self, node: ast.expr) -> str:
        """An expression as it is written, on one line."""
        return " ".join(ast.unparse(node).split())

    def indent(self, statement: ast.stmt) -> str:
        line = self.lines[statement.lineno - 1]
        return line[: len(line) - len(line.lstrip())]

    def source(self, statement: ast.stmt) -> list[str]:
        """The lines of a statement, with what decorates it."""
        first = min([statement.lineno, *(each.lineno for each in getattr(statement, "decorator_list", []))])
        return self.lines[first - 1 : statement.end_lineno]

    def _alone(self, statement: ast.stmt) -> bool:
        """Whether nothing else stands on the lines of a statement."""
        before = self.lines[statement.lineno - 1].encode()[: statement.col_offset]
        after = self.lines[(statement.end_lineno or statement.lineno) - 1].encode()[statement.end_col_offset :].strip()
        return not before.strip() and (not after or after.startswith(b"#"))

    # --- edits

    def edited(self, edits: Sequence[Edit]) -> str:
        """The text with edits made; they must not overlap."""
        lines = list(self.lines)
        for edit in sorted(edits, key=lambda edit: (edit.first, edit.last), reverse=True):
            lines[edit.first - 1 : edit.last] = edit.lines
        return "\n".join(lines)

    def instead(self, statement: ast.stmt, *lines: str) -> Edit:
        """Other lines in the place of a statement, indented as it was."""
        indent = self.indent(statement)
        return Edit(statement.lineno, statement.end_lineno or statement.lineno, [f"{indent}{line}" for line in lines])

    def before(self, statement: ast.stmt, *lines: str) -> Edit:
        indent = self.indent(statement)
        return Edit(statement.lineno, statement.lineno - 1, [f"{indent}{line}" for line in lines])

    def after(self, statement: ast.stmt, *lines: str) -> Edit:
        end, indent = statement.end_lineno or statement.lineno, self.indent(statement)
        return Edit(end + 1, end, [f"{indent}{line}" for line in lines])

    def dropped(self, statement: ast.stmt) -> Edit:
        return self.instead(statement, "pass")

    def moved(self, statement: ast.stmt, behind: ast.stmt) -> list[Edit]:
        """A statement taken away and put behind another one."""
        indent, own = self.indent(behind), self.indent(statement)
        lines = [f"{indent}{line[len(own) :]}" if line.startswith(own) else line for line in self.source(statement)]
        end = behind.end_lineno or behind.lineno
        return [self.dropped(statement), Edit(end + 1, end, lines)]

    def deeper(self, statements: Sequence[ast.stmt], header: str) -> Edit:
        """Statements put below a header, all indented by one more level."""
        first, last = statements[0].lineno, statements[-1].end_lineno or statements[-1].lineno
        inner = [f"    {line}" if line.strip() else line for line in self.lines[first - 1 : last]]
        return Edit(first, last, [f"{self.indent(statements[0])}{header}", *inner])

    def expression(self, node: ast.expr, text: str) -> Edit:
        """Another expression in the place of one."""
        first, last = node.lineno, node.end_lineno or node.lineno
        head = self.lines[first - 1].encode()[: node.col_offset].decode()
        tail = self.lines[last - 1].encode()[node.end_col_offset :].decode()
        return Edit(first, last, [f"{head}{text}{tail}"])


@dataclass(frozen=True)
class Edit:
    """Lines `first` to `last` (none of them, where `last` lies before `first`) become other lines."""

    first: int
    last: int
    lines: list[str]
