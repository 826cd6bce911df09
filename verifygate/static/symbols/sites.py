"""Call and assignment sites of one function, each with its enclosing loops, branches and `with` blocks."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Sequence

from verifygate.base.records import record, replace
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.exit_stacks import stacked
from verifygate.static.syntax.traversal import LEAVES, children, walk

Loop = ast.For | ast.AsyncFor | ast.While
_CLOSED = LEAVES | {ast.Lambda}


@record
class Test:
    """A condition around a spot, and the loops around the condition."""

    expr: ast.expr
    loops: tuple[Loop, ...]
    body: tuple[ast.AST, ...] = ()
    """What runs only where the condition decides so."""
    holds: bool = True
    """Whether it runs where the condition holds, or where it does not."""


@record(eq=False)
class ProgramPoint:
    """A call, an assignment, a `with` or a `return`, and what decides whether it runs."""

    node: ast.AST
    statement: ast.stmt
    function: Function
    block: tuple[ast.stmt, ...] = ()
    """The statements among which its own stands."""
    loops: tuple[Loop, ...] = ()
    """Outermost first."""
    tests: tuple[Test, ...] = ()
    contexts: tuple[ast.expr, ...] = ()
    leaves: bool = False
    """In a handler of exceptions, or on a way that ends the loop or the function: it runs once at most."""

    def at(self, node: ast.AST) -> ProgramPoint:
        """The same for another node of the statement."""
        return ProgramPoint(
            node, self.statement, self.function, self.block, self.loops, self.tests, self.contexts, self.leaves
        )

    def of(self, statement: ast.stmt, block: tuple[ast.stmt, ...]) -> ProgramPoint:
        """The same for a statement among others."""
        return ProgramPoint(
            self.node, statement, self.function, block, self.loops, self.tests, self.contexts, self.leaves
        )

    @property
    def place(self) -> Location:
        return Location(self.function, self.node)


def program_points(function: Function) -> list[ProgramPoint]:
    """Every spot of the function's own body, in source order."""
    finder = _Finder(function)
    finder.block(function.node.body, ProgramPoint(function.node, ast.Pass(), function))
    return finder.found


class _Finder:
    """Collects the spots of one function. (A list to add to: generators in generators take twice as long.)"""

    def __init__(self, function: Function) -> None:
        self.found: list[ProgramPoint] = []
        self._lines = sorted({call.lineno for call in function.calls})
        """The lines on which calls begin."""

    def block(self, body: Sequence[ast.stmt], around: ProgramPoint) -> None:
        block = tuple(body)
        for number, statement in enumerate(block):
            self._statement(statement, around.of(statement, block))
            if (
                isinstance(statement, ast.If)
                and isinstance(statement.body[-1], ast.Continue)
                and counts(statement.test)
            ):
                rest = block[number + 1 :]
                around = replace(around, tests=(*around.tests, Test(statement.test, around.loops, rest, holds=False)))

    def _statement(self, node: ast.stmt, here: ProgramPoint) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return
            case ast.If():
                self._expression(node.test, here)
                self.block(node.body, _under(here, node.test, node.body))
                if node.orelse:
                    self.block(node.orelse, _under(here, node.test, node.orelse, holds=False))
            case ast.For() | ast.AsyncFor() | ast.While():
                self._expression(node.test if isinstance(node, ast.While) else node.iter, here)
                self.block(node.body, replace(here, loops=(*here.loops, node)))
                self.block(node.orelse, here)
            case ast.With() | ast.AsyncWith():
                self.found.append(here.at(node))
                for item in node.items:
                    self._expression(item.context_expr, here)
                entered = (*(item.context_expr for item in node.items), *(each for each, _ in stacked(node)))
                self.block(node.body, replace(here, contexts=here.contexts + entered))
            case ast.Try():
                self.block(node.body, here)
                for handler in node.handlers:
                    self.block(handler.body, replace(here, leaves=True))
                self.block(node.orelse, here)
                self.block(node.finalbody, here)
            case ast.Match():
                self._expression(node.subject, here)
                for case in node.cases:
                    self.block(case.body, _under(here, node.subject, case.body))
            case _:
                if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Return):
                    self.found.append(here.at(node))
                self._expression(node, here)

    def _expression(self, node: ast.expr | ast.stmt, here: ProgramPoint) -> None:
        """The calls in an expression or simple statement, outermost first."""
        first = bisect_left(self._lines, node.lineno)
        if first == len(self._lines) or self._lines[first] > (node.end_lineno or node.lineno):
            return  # no call begins there
        stack: list[tuple[ast.AST, ProgramPoint]] = [(node, here)]
        while stack:
            inner, around = stack.pop()
            if inner.__class__ is ast.IfExp:
                for arm in (inner.orelse, inner.body):
                    test = Test(inner.test, around.loops, (arm,), arm is inner.body)
                    stack.append((arm, replace(around, tests=(*around.tests, test))))
                stack.append((inner.test, around))
                continue
            if inner.__class__ is ast.Call:
                self.found.append(around.at(inner))
            stack += [(each, around) for each in reversed(children(inner)) if each.__class__ not in _CLOSED]


def _under(here: ProgramPoint, test: ast.expr, body: Sequence[ast.stmt], *, holds: bool = True) -> ProgramPoint:
    last = body[-1] if body else None
    leaves = here.leaves or isinstance(last, ast.Break | ast.Raise) or _exits(last) or _gives_up(last, here)
    return replace(here, tests=(*here.tests, Test(test, here.loops, tuple(body), holds)), leaves=leaves)


def _gives_up(last: ast.stmt | None, here: ProgramPoint) -> bool:
    """Whether an arm returns before its time: out of a loop, or with nothing. A value is one result of the function."""
    return isinstance(last, ast.Return) and (
        bool(here.loops) or last.value is None or isinstance(last.value, ast.Constant)
    )


def _exits(last: ast.stmt | None) -> bool:
    call = last.value if isinstance(last, ast.Expr) else None
    return isinstance(call, ast.Call) and ast.unparse(call.func) in ("sys.exit", "exit", "quit", "os._exit")


def counts(test: ast.expr) -> bool:
    """Whether a condition picks every n-th iteration."""
    return any(isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) for node in walk(test))
