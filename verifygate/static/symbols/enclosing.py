"""Enclosing statements of a node: the loops, branches and `with` blocks of its function that it is in."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.base.records import record
from verifygate.static.symbols.own_nodes import CLOSED
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.exit_stacks import stacked
from verifygate.static.syntax.traversal import FIELDS, is_script

Loop = ast.For | ast.AsyncFor | ast.While


@record
class Ancestor:
    """One node around another, and the field of it that leads there (`body`, `orelse`, `test`, ...)."""

    node: ast.AST
    part: str


class EnclosingNodes:
    """Answers for every function; the map of a function is made when it is first asked for."""

    def __init__(self) -> None:
        self._parents: dict[Function, dict[ast.AST, tuple[ast.AST, str]]] = {}
        self._tests: dict[tuple[ast.AST, str], list[ast.Assert | ast.If]] = {}

    def around(self, node: ast.AST, function: Function) -> Iterator[Ancestor]:
        """What stands around the node, innermost first, up to the function's own definition."""
        if function not in self._parents:
            self._parents[function] = dict(_edges(function.node))
        parents = self._parents[function]
        while (outer := parents.get(node)) is not None:
            yield Ancestor(*outer)
            node = outer[0]

    def parent(self, node: ast.AST, function: Function) -> ast.AST | None:
        """The node right above; None for the function itself, and for what does not stand in its body."""
        return next((each.node for each in self.around(node, function)), None)

    def tests_before(self, node: ast.AST, around: Ancestor) -> Iterator[ast.Assert | ast.If]:
        """The assertions and branches of the block that a node stands in, in front of it: one may have left before."""
        key = (around.node, around.part)
        if key not in self._tests:
            block = getattr(around.node, around.part)
            among = block if isinstance(block, list) else ()
            self._tests[key] = [each for each in among if isinstance(each, ast.Assert | ast.If)]
        for test in self._tests[key]:
            if (test.lineno, test.col_offset) >= (node.lineno, node.col_offset):  # type: ignore[attr-defined]
                return
            yield test

    def loops(self, node: ast.AST, function: Function) -> list[Loop]:
        """The loops whose iterations run the node, innermost first; an iterable or an `else` runs once."""
        return [
            each.node
            for each in self.around(node, function)
            if isinstance(each.node, Loop) and each.part in ("body", "test")
        ]

    def conditions(self, node: ast.AST, function: Function) -> list[tuple[ast.expr, bool]]:
        """The conditions that hold where the node runs, innermost first: the test, and whether it holds.

        Whether the file runs as a script decides nothing between two parts of a run.
        """
        return [
            (each.node.test, each.part == "body")
            for each in self.around(node, function)
            if isinstance(each.node, ast.If | ast.IfExp) and each.part != "test" and not is_script(each.node.test)
        ]

    def contexts(self, node: ast.AST, function: Function) -> list[ast.expr]:
        """What the `with` statements around the node enter, innermost first."""
        found: list[ast.expr] = []
        for each in self.around(node, function):
            if isinstance(each.node, ast.With | ast.AsyncWith) and each.part == "body":
                found += reversed([context for context, may_be_left in stacked(each.node) if not may_be_left])
                found += [item.context_expr for item in reversed(each.node.items)]
        return found


def _edges(root: ast.AST) -> Iterator[tuple[ast.AST, tuple[ast.AST, str]]]:
    """Each node below a function, but for what stands in functions inside it, with what is right above it."""
    stack = [root]
    while stack:
        node = stack.pop()
        for part in FIELDS[node.__class__] if node is not root else ("body",):
            value = getattr(node, part)
            edge = (node, part)
            for child in value if isinstance(value, list) else (value,):
                if child is not None:
                    yield child, edge
                    if child.__class__ not in CLOSED:
                        stack.append(child)


def deferring(call: ast.Call, function: Function) -> tuple[ast.expr, Function]:
    """The lambda that makes a call, where one does, and the function it stands in: what stands around it decides."""
    homes = (function, function.enclosing or function)
    lambdas = ((each, home) for home in homes for each in home.of_kind(ast.Lambda) if each.body is call)
    return next(lambdas, (call, function))
