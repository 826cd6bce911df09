"""Source locations: a syntax node and the function that holds it."""

from __future__ import annotations

import ast

from verifygate.base.records import record
from verifygate.static.symbols.program import Function


@record
class Location:
    """Where a node stands in the source."""

    function: Function
    node: ast.AST

    @property
    def path(self) -> str:
        return self.function.module.path

    @property
    def line(self) -> int:
        return int(getattr(self.node, "lineno", 1))

    @property
    def column(self) -> int:
        return int(getattr(self.node, "col_offset", 0)) + 1

    @property
    def end_line(self) -> int:
        return int(getattr(self.node, "end_lineno", None) or self.line)
