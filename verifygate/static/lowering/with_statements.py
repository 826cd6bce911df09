"""Lower `with`: enter and leave autocast regions on every path, and run context managers of the project."""

from __future__ import annotations

import ast

from verifygate.static.lowering.context import Activation, EarlyExits
from verifygate.static.lowering.dispatch import lower_body, lower_expression
from verifygate.static.lowering.event_graph import Enter, Leave
from verifygate.static.lowering.generators import lower_managed, manager_call
from verifygate.static.syntax.exit_stacks import stacked


def lower_with(node: ast.With | ast.AsyncWith, here: Activation) -> None:
    """Lower the items of a `with` one inside the other, then what an exit stack enters, then the body."""
    _lower_from(node, 0, here)


def _lower_from(node: ast.With | ast.AsyncWith, index: int, here: Activation) -> None:
    """Lower the items from an index on."""
    stack = [ast.withitem(context) for context, _ in stacked(node)]
    if index == len(node.items) + len(stack):
        lower_body(node.body, here)
        return
    item, is_written = [*node.items, *stack][index], index < len(node.items)
    if is_written and (manager := manager_call(item.context_expr, here)):
        lower_managed(manager, item, lambda: _lower_from(node, index + 1, here), here)
        return
    region = here.roles.region(item.context_expr, here.frame)
    if region is None:
        if is_written:
            lower_expression(item.context_expr, here)
        _lower_from(node, index + 1, here)
        return
    builder, early_exits = here.builder, EarlyExits(here)
    builder.emit(Enter(region.active, region.caches), item.context_expr, here.frame)
    _lower_from(node, index + 1, here)
    if builder.pending:
        builder.emit(Leave(), node, here.frame)
    after = builder.pending
    for _, edges, early in early_exits.cut():
        builder.pending = early
        builder.emit(Leave(), node, here.frame)
        edges += builder.pending
    builder.pending = after
