"""Put marks into the functions of tests, so that a run says whether it went through them as their text does.

Each mark keeps a number in a variable of the frame and knows which numbers may stand there before it: those of the
marks that the text leads from. Control that was sent elsewhere (a trace function that sets `f_lineno`) comes to a mark
with a number that does not lead there. The marks need no tracing, so coverage and debuggers go on as ever.

    def test_step():            def test_step():
                                    last = start(1)
        out = step()                out = step(); last = passed(2, last)        from 1
        if out.isnan():             if out.isnan():
                                        last = passed(3, last)                  from 2
            return                      end(4, last); return                    from 3
                                    else: last = passed(5, last)                from 2
        assert out == 2             assert out == 2; last = passed(6, last)     from 5
                                    end(7, last)                                from 6
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field

MODULE, LAST, VALUE = "@verifygate", "@verifygate_last", "@verifygate_value"
"""Names in the marked code. As those of pytest's rewriting they are none that a program can write."""
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
WITHS = (ast.With, ast.AsyncWith)
TRIES = (ast.Try, *([ast.TryStar] if hasattr(ast, "TryStar") else []))
MATCHES = (ast.Match,) if hasattr(ast, "Match") else ()
COMPOUND = (ast.If, *LOOPS, *WITHS, *TRIES, *MATCHES)
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Point:
    """One mark."""

    function: int
    line: int
    before: set[int] = field(default_factory=set)
    """The marks that the text leads from to this one."""
    leaves: bool = False
    """Whether a `return`, `break` or `continue` follows."""


class Marks:
    """The marks of all files, numbered through."""

    def __init__(self) -> None:
        self.points: list[Point] = []

    def put(self, node: Function, function: int) -> None:
        """Mark one function. Its own number is `function`."""
        _Marker(self.points, function).mark(node)


def head(tree: ast.Module, module: str) -> None:
    """Import what the marks call, behind the docstring and `from __future__`."""
    at = 0
    for at, node in enumerate(tree.body):  # noqa: B007 - where the loop ends is asked for
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not (text or (isinstance(node, ast.ImportFrom) and node.module == "__future__")):
            break
    first = tree.body[at]
    tree.body.insert(at, _placed(ast.Import([ast.alias(module, MODULE)]), _line(first), first))


def _line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return decorators[0].lineno if decorators else node.lineno


def _placed(made: ast.stmt, line: int, like: ast.AST) -> ast.stmt:
    """A statement on one line: on that of what it stands beside, so that a trace sees no further line."""
    for each in ast.walk(made):
        if "lineno" in each._attributes:
            each.lineno = each.end_lineno = line  # type: ignore[attr-defined]
            each.col_offset = each.end_col_offset = getattr(like, "col_offset", 0)  # type: ignore[attr-defined]
    return made


class _Marker:
    def __init__(self, points: list[Point], function: int) -> None:
        self._points = points
        self._function = function
        self._breaks: list[set[int]] = []
        self._continues: list[set[int]] = []

    def mark(self, node: Function) -> None:
        text = node.body[0]
        has_text = isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
        body = node.body[1:] if has_text else node.body
        start, first = self._new((body or node.body)[0], "start", set())
        body, out = self._block(body, {first})
        end, _ = self._new(node.body[-1], "end", out)
        node.body = [*([text] if has_text else []), start, *body, end]

    def _new(self, beside: ast.stmt | ast.ExceptHandler, kind: str, before: set[int]) -> tuple[ast.stmt, int]:
        """A mark on the line of a statement, and its number."""
        number = len(self._points)
        self._points.append(Point(self._function, beside.lineno, before))
        given: list[ast.expr] = [ast.Constant(number)]
        if kind != "start":
            given.append(ast.Name(LAST, ast.Load()))
        call = ast.Call(ast.Attribute(ast.Name(MODULE, ast.Load()), kind, ast.Load()), given, [])
        made = ast.Assign([ast.Name(LAST, ast.Store())], call)
        return _placed(made, beside.lineno, beside), number

    def _block(self, body: Iterable[ast.stmt], before: set[int]) -> tuple[list[ast.stmt], set[int]]:
        """The statements with marks between them, and the marks that lead out of the last one."""
        marked: list[ast.stmt] = []
        for node in body:
            if isinstance(node, COMPOUND):
                if _matters(node):
                    before = self._compound(node, before)
                marked.append(node)
            elif isinstance(node, ast.Return):
                if node.value is not None:  # what it is worked out from may fail
                    value = ast.Assign([ast.Name(VALUE, ast.Store())], node.value)
                    marked.append(ast.copy_location(value, node))
                    ast.copy_location(value.targets[0], node)
                    node.value = ast.copy_location(ast.Name(VALUE, ast.Load()), node)
                made, number = self._new(node, "end", before)
                self._points[number].leaves = True
                marked += [made, node]
                before = set()
            elif isinstance(node, ast.Break | ast.Continue):
                made, number = self._new(node, "passed", before)
                (self._breaks if isinstance(node, ast.Break) else self._continues)[-1].add(number)
                self._points[number].leaves = True
                marked += [made, node]
                before = set()
            elif isinstance(node, ast.Raise):
                marked.append(node)
                before = set()
            else:
                made, number = self._new(node, "passed", before)
                marked += [node, made]
                before = {number}
        return marked, before

    def _begun(
        self, body: list[ast.stmt], before: set[int], owner: ast.stmt | None = None
    ) -> tuple[list[ast.stmt], set[int]]:
        """A block with a mark at its begin: control has come into it."""
        made, number = self._new(body[0] if body else (owner or ast.Pass()), "passed", before)
        marked, out = self._block(body, {number})
        return [made, *marked], out

    def _compound(self, node: ast.stmt, before: set[int]) -> set[int]:
        if isinstance(node, ast.If):
            node.body, one = self._begun(node.body, before)
            node.orelse, other = self._begun(node.orelse, before, node)
            return one | other
        if isinstance(node, LOOPS):
            return self._loop(node, before)
        if isinstance(node, WITHS):
            return self._with(node, before)
        if isinstance(node, TRIES):
            return self._try(node, before)  # type: ignore[arg-type] # `try` with `except*` among them
        out = set(before)
        for case in node.cases if isinstance(node, MATCHES) else ():  # none of them may hold
            case.body, one = self._begun(case.body, before)
            out |= one
        return out

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While, before: set[int]) -> set[int]:
        """An `else` of the loop's own shows that it came to its end, and was not left by another way than `break`."""
        again = set(before)
        self._breaks.append(set())
        self._continues.append(set())
        node.body, out = self._begun(node.body, again)
        again |= out | self._continues.pop()
        left = self._breaks.pop()
        node.orelse, done = self._begun(node.orelse, again, node)
        return done | left

    def _with(self, node: ast.With | ast.AsyncWith, before: set[int]) -> set[int]:
        """What a context manager may swallow passes a mark of its own."""
        first = len(self._points)
        node.body, out = self._begun(node.body, before)
        node.body, caught = self._raising(node, node.body, first)
        return out | {caught}

    def _raising(self, node: ast.stmt, body: list[ast.stmt], first: int) -> tuple[list[ast.stmt], int]:
        """A block whose exceptions pass a mark: from any of its own since `first`."""
        made, number = self._new(node, "passed", set(range(first, len(self._points))))
        again = _placed(ast.Raise(None, None), node.lineno, node)
        handler = ast.copy_location(ast.ExceptHandler(None, None, [made, again]), node)
        return [ast.copy_location(ast.Try(body, [handler], [], []), node)], number

    def _try(self, node: ast.Try, before: set[int]) -> set[int]:
        first = len(self._points)
        left = [(each, set(each)) for each in (*self._breaks[-1:], *self._continues[-1:])]
        node.body, out = self._begun(node.body, before)
        inside = set(range(first, len(self._points)))
        if node.orelse:
            node.orelse, out = self._begun(node.orelse, out)
        for handler in node.handlers:
            handler.body, caught = self._begun(handler.body, inside)
            out = out | caught
        if node.finalbody:  # control comes there by any way: what comes out of it is told apart
            inside = set(range(first, len(self._points)))
            leaving = {each for each in inside if self._points[each].leaves}
            if isinstance(node, ast.Try):
                inner: list[ast.stmt] = [ast.copy_location(ast.Try(node.body, node.handlers, node.orelse, []), node)]
                node.body, raised = self._raising(node, inner if node.handlers else node.body, first)
                node.handlers, node.orelse = [], []
                inside = {*out, raised, *leaving}
            node.finalbody, out = self._begun(node.finalbody, inside)
            for each in out if leaving else ():  # who leaves from inside passes the last mark of this block as well
                self._points[each].leaves = True
            for ways, earlier in left:
                if ways - earlier:
                    ways |= out
        return out


def _matters(node: ast.stmt) -> bool:
    """Whether a statement asserts, calls or leaves, so that to go around a part of it could hide something."""
    told: tuple[type[ast.AST], ...] = (ast.Assert, ast.Return)
    if not isinstance(node, LOOPS):
        told += (ast.Break, ast.Continue)
    waiting: list[ast.AST] = [node]
    while waiting:
        each = waiting.pop()
        if isinstance(each, told) or (isinstance(each, ast.Expr) and isinstance(each.value, ast.Call | ast.Await)):
            return True
        waiting += [child for child in ast.iter_child_nodes(each) if not isinstance(child, SCOPES)]
    return False
