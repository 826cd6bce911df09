"""The calls and assignments of one function, each with the loops, conditions and contexts around it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from verifygate.record import record, replace
from verifygate.static.graph import Place
from verifygate.static.program import Function
from verifygate.static.syntax import LEAVES, children, walk

Loop = ast.For | ast.AsyncFor | ast.While
_CLOSED = LEAVES | {ast.Lambda}
_CALMS = frozenset({"no_grad", "inference_mode"})


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
class Spot:
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

    def at(self, node: ast.AST) -> Spot:
        """The same for another node of the statement."""
        return Spot(node, self.statement, self.function, self.block, self.loops, self.tests, self.contexts, self.leaves)

    def of(self, statement: ast.stmt, block: tuple[ast.stmt, ...]) -> Spot:
        """The same for a statement among others."""
        return Spot(self.node, statement, self.function, block, self.loops, self.tests, self.contexts, self.leaves)

    @property
    def place(self) -> Place:
        return Place(self.function, self.node)

    @property
    def without_gradients(self) -> bool:
        """Whether a context around it, or a decorator of its function, turns autograd off."""
        return any(turns_autograd_off(each) for each in self.contexts) or calm(self.function)


def calm(function: Function) -> bool:
    """Whether a decorator turns autograd off in the whole function."""
    return any(turns_autograd_off(each) for each in getattr(function.node, "decorator_list", ()))


def turns_autograd_off(context: ast.expr) -> bool:
    """`torch.no_grad()`, `inference_mode`, and `set_grad_enabled(...)`, whatever it is given: it may be off."""
    named = {getattr(node, "attr", getattr(node, "id", "")) for node in walk(context)}
    return bool(named & _CALMS) or "set_grad_enabled" in named


def spots_of(function: Function) -> list[Spot]:
    """Every spot of the function's own body, in source order."""
    return list(_block(function.node.body, Spot(function.node, ast.Pass(), function)))


def _block(body: Sequence[ast.stmt], around: Spot) -> Iterator[Spot]:
    block = tuple(body)
    for number, statement in enumerate(block):
        yield from _statement(statement, around.of(statement, block))
        if isinstance(statement, ast.If) and isinstance(statement.body[-1], ast.Continue) and counts(statement.test):
            rest = block[number + 1 :]
            around = replace(around, tests=(*around.tests, Test(statement.test, around.loops, rest, holds=False)))


def _statement(node: ast.stmt, here: Spot) -> Iterator[Spot]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return
        case ast.If():
            yield from _expression(node.test, here)
            yield from _block(node.body, _under(here, node.test, node.body))
            yield from _block(node.orelse, _under(here, node.test, node.orelse, holds=False))
        case ast.For() | ast.AsyncFor() | ast.While():
            yield from _expression(node.test if isinstance(node, ast.While) else node.iter, here)
            yield from _block(node.body, replace(here, loops=(*here.loops, node)))
            yield from _block(node.orelse, here)
        case ast.With() | ast.AsyncWith():
            yield here.at(node)
            for item in node.items:
                yield from _expression(item.context_expr, here)
            entered = tuple(item.context_expr for item in node.items)
            yield from _block(node.body, replace(here, contexts=here.contexts + entered))
        case ast.Try():
            yield from _block(node.body, here)
            for handler in node.handlers:
                yield from _block(handler.body, replace(here, leaves=True))
            yield from _block(node.orelse, here)
            yield from _block(node.finalbody, here)
        case ast.Match():
            yield from _expression(node.subject, here)
            for case in node.cases:
                yield from _block(case.body, _under(here, node.subject, case.body))
        case _:
            if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Return):
                yield here.at(node)
            yield from _expression(node, here)


def _under(here: Spot, test: ast.expr, body: Sequence[ast.stmt], *, holds: bool = True) -> Spot:
    last = body[-1] if body else None
    leaves = here.leaves or isinstance(last, ast.Break | ast.Raise) or _exits(last) or _gives_up(last, here)
    return replace(here, tests=(*here.tests, Test(test, here.loops, tuple(body), holds)), leaves=leaves)


def _gives_up(last: ast.stmt | None, here: Spot) -> bool:
    """Whether an arm returns before its time: out of a loop, or with nothing. A value is one result of the function."""
    return isinstance(last, ast.Return) and (
        bool(here.loops) or last.value is None or isinstance(last.value, ast.Constant)
    )


def _exits(last: ast.stmt | None) -> bool:
    call = last.value if isinstance(last, ast.Expr) else None
    return isinstance(call, ast.Call) and ast.unparse(call.func) in ("sys.exit", "exit", "quit", "os._exit")


def _expression(node: ast.AST, here: Spot) -> Iterator[Spot]:
    """The calls in an expression or simple statement, outermost first."""
    stack = [(node, here)]
    while stack:
        inner, around = stack.pop()
        if isinstance(inner, ast.IfExp):
            for arm in (inner.orelse, inner.body):
                test = Test(inner.test, around.loops, (arm,), arm is inner.body)
                stack.append((arm, replace(around, tests=(*around.tests, test))))
            stack.append((inner.test, around))
            continue
        if inner.__class__ is ast.Call:
            yield around.at(inner)
        stack += [(each, around) for each in reversed(children(inner)) if each.__class__ not in _CLOSED]


def counts(test: ast.expr) -> bool:
    """Whether a condition picks every n-th turn."""
    return any(isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) for node in walk(test))
