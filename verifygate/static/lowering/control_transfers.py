"""Lower what leaves the straight path: `return`, `raise`, `break`, `continue`, and `try` with its handlers."""

from __future__ import annotations

import ast

from verifygate.static.conditions.normal_form import is_of_what_is_not_there
from verifygate.static.conditions.predicates import Predicate
from verifygate.static.lowering.assignments import assign_value
from verifygate.static.lowering.context import Activation
from verifygate.static.lowering.dispatch import lower_body, lower_expression
from verifygate.static.lowering.event_graph import Pass


def lower_return(node: ast.Return, here: Activation) -> None:
    """Lower a `return`: the value is assigned to the result of the call, the path goes on behind it."""
    if node.value is not None:
        lower_expression(node.value, here)
        if here.result is not None and here.builder.pending:
            assign_value(here.result, node.value, node, here)
    here.builder.jump(here.returns)


def lower_raise(_node: ast.Raise, here: Activation) -> None:
    """End the path at a `raise`."""
    here.builder.jump()


def lower_break(_node: ast.Break, here: Activation) -> None:
    """Lead the path behind the loop."""
    if here.loops:
        here.builder.jump(here.loops[-1].breaks)


def lower_continue(_node: ast.Continue, here: Activation) -> None:
    """Lead the path to the end of the iteration."""
    if here.loops:
        here.builder.jump(here.loops[-1].continues)


def lower_try(node: ast.Try, here: Activation) -> None:
    """Lower a `try`: each handler is entered from where its body is, before anything of that has run.

    One that catches a missing method or module instead branches on that: the body then has not run at all.
    """
    builder = here.builder
    before = dict.fromkeys(node.handlers, builder.pending)
    if (absent := next((each for each in node.handlers if is_of_what_is_not_there(each)), None)) is not None:
        atom = Predicate(f"not implemented: line {absent.lineno} of {here.frame.function.module.path}")
        before[absent], builder.pending = builder.branch(atom, True, absent, here.frame)
    with builder.join() as join:
        with join.path(builder.pending):
            lower_body(node.body, here)
            lower_body(node.orelse, here)
        for handler in node.handlers:
            with join.path(before[handler]):
                builder.emit(Pass(), handler, here.frame)
                lower_body(handler.body, here)
    lower_body(node.finalbody, here)
