"""Lower a statement or an expression: look its class up in the one table of `lower.py`, and call what stands there."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from verifygate.static.lowering.context import Activation
from verifygate.static.syntax.traversal import children


def lower_body(body: Sequence[ast.stmt], here: Activation) -> None:
    """Lower statements in order, up to one that nothing leads past."""
    for statement in body:
        if not here.builder.pending:
            return
        if lower := here.context.table.get(statement.__class__):
            lower(statement, here)


def lower_expression(expr: ast.expr, here: Activation) -> None:
    """Lower the calls of an expression in the order in which they run."""
    if not here.builder.pending:
        return
    suspends = here.at_yield is not None and isinstance(expr, ast.Yield | ast.YieldFrom)
    if suspends or here.context.reach.names.may_hold(expr):
        here.context.table.get(expr.__class__, lower_operands)(expr, here)


def lower_operands(expr: ast.expr, here: Activation) -> None:
    """Lower the parts of an expression that does nothing itself."""
    for child in children(expr):
        if isinstance(child, ast.expr):
            lower_expression(child, here)
