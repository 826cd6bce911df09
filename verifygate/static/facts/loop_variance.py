"""Loop variance of a condition: whether it may hold in some iterations only."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.static.symbols.sites import Test
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import children, walk

_FINITE = frozenset({"isfinite", "isnan", "isinf"})
_TYPE_CALLS = frozenset({"isinstance", "issubclass", "hasattr", "is_tensor"})


def asked(test: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a condition, but for what it asks the type of, and for what it looks something up in.

    The type of a value stays the same from iteration to iteration, and so does what a collection has keys for.
    """
    yield test
    match test:
        case ast.Call() if last_name(test.func) in _TYPE_CALLS:
            return
        case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()]):
            yield from asked(left)
        case _:
            for child in children(test):
                yield from asked(child)


def adds_to_what_is_there(test: Test) -> bool:
    """The second arm of `total = new if total is None else total + new`: every iteration but the first."""
    match test.expr:
        case ast.Compare(left=ast.Name(id=name), ops=[ast.Is() | ast.IsNot()], comparators=[ast.Constant(value=None)]):
            return any(
                isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
                for part in test.body
                for node in walk(part)
            )
    return False


def is_of_the_finite(test: Test) -> bool:
    """Whether a condition only leaves out what is inf or NaN: `loss.item() if not torch.isnan(loss) else 0`."""
    expr, holds = test.expr, test.holds
    while isinstance(expr, ast.UnaryOp) and isinstance(expr.op, ast.Not):
        expr, holds = expr.operand, not holds
    nodes = tuple(walk(expr))
    names = {last_name(node.func) for node in nodes if isinstance(node, ast.Call)}
    if not names & _FINITE or any(isinstance(node, ast.BoolOp | ast.BinOp) for node in nodes):
        return False
    return holds is ("isfinite" in names)


def says_the_same(test: Test, other: Test) -> bool:
    """Whether a condition holds only where another of the same iteration does: `if last:` beside `if full or last:`."""
    return test.holds is other.holds and any(ast.dump(part) == ast.dump(test.expr) for part in _ways(other))


def _ways(test: Test) -> list[ast.expr]:
    """A condition, and those of which each is enough for it."""
    match test.expr:
        case ast.BoolOp(op=ast.Or(), values=values) if test.holds:
            return [test.expr, *values]
    return [test.expr]
