"""Lower conditions to branches, short-circuited, and what stands under them: `if`, `match`, `a if test else b`."""

from __future__ import annotations

import ast

from verifygate import torch_names
from verifygate.static.conditions.identity import identity
from verifygate.static.conditions.normal_form import expand, fact_of, gradients_there, is_about_all, is_finite_check
from verifygate.static.conditions.optional_objects import asked_of
from verifygate.static.conditions.predicates import Predicate
from verifygate.static.lowering.builder import Edges
from verifygate.static.lowering.context import Activation
from verifygate.static.lowering.dispatch import lower_body, lower_expression
from verifygate.static.lowering.mode_branches import mode_chosen
from verifygate.static.lowering.optimizer_loops import iteration_predicate
from verifygate.static.values.domain import Bound, Frame

_FINITE_WORDS = tuple(word.encode() for word in torch_names.FINITE_WORDS)


def lower_condition(test: ast.expr, frame: Frame, here: Activation) -> tuple[Edges, Edges]:
    """Branch on a condition; returns the edges on which it holds and those on which it does not.

    A condition with a known value has one outcome and no branch; `not`, `and` and `or` become several.
    """
    builder, roles = here.builder, here.roles
    truth = roles.evaluator.truth(test, frame)
    if truth is not None:
        here.context.decided.append(Bound(test, frame))
    else:
        truth = gradients_there(test)
    if truth is not None:
        return (builder.pending, []) if truth else ([], builder.pending)
    match test:
        case ast.UnaryOp(op=ast.Not()):
            holds, fails = lower_condition(test.operand, frame, here)
            return fails, holds
        case ast.BoolOp():
            return _lower_short_circuit(test, frame, here)
    expanded, home = expand(test, frame, roles)
    if expanded is not test:
        return lower_condition(expanded, home, here)
    if built := asked_of(test, frame, roles):
        return lower_condition(built.expr, built.frame, here)
    if frame is here.frame:
        lower_expression(test, here)
    same = identity(test, frame, roles)
    found = iteration_predicate(test, frame, roles) if same is None else same
    if isinstance(found, bool):
        here.context.decided.append(Bound(test, frame))
        return (builder.pending, []) if found else ([], builder.pending)
    atom, wanted = found or fact_of(test, frame, roles)
    return builder.branch(atom, wanted, test, here.frame)


def _lower_short_circuit(test: ast.BoolOp, frame: Frame, here: Activation) -> tuple[Edges, Edges]:
    """`a and b` is over where `a` fails, `a or b` where it holds."""
    builder = here.builder
    early: Edges = []
    is_and = isinstance(test.op, ast.And)
    for operand in test.values:
        holds, fails = lower_condition(operand, frame, here)
        early += fails if is_and else holds
        builder.pending = holds if is_and else fails
        if not builder.pending:
            break
    return (builder.pending, early) if is_and else (early, builder.pending)


def branch_on_enabled(enabled: Bound, node: ast.AST, here: Activation) -> tuple[Edges, Edges]:
    """Branch on the condition with which a scaler was built: evaluated once, so its outcome holds for good."""
    roles = here.roles
    expr, frame = expand(enabled.expr, enabled.frame, roles)
    atom, wanted = fact_of(expr, frame, roles)
    if isinstance(expr, ast.BoolOp) or atom.opaque:
        atom, wanted = Predicate(f"enabled: {atom.key}"), True
    return here.builder.branch(atom, wanted, node, here.frame)


def lower_if(node: ast.If, here: Activation) -> None:
    """Lower both branches of an `if`, those that can run."""
    with here.builder.collapsible():
        _lower_if(node, here)


def _lower_if(node: ast.If, here: Activation) -> None:
    context, nodes = here.context, here.builder.graph.nodes
    is_guard = here.frame.function.module.mentions(*_FINITE_WORDS) and is_finite_check(node.test)
    start, known = len(nodes), len(context.decided)
    holds, fails = lower_condition(node.test, here.frame, here)
    decided = context.decided[known:]
    del context.decided[known:]
    if decided and (not holds or not fails):
        taken, left = (node.body, node.orelse) if holds else (node.orelse, node.body)
        jumps = bool(taken) and isinstance(taken[-1], ast.Return | ast.Continue | ast.Break)
        context.led_past += decided if jumps or context.reach.hold_events(left, here.frame) else ()
    filtering = here.loops[-1] if here.loops and not is_about_all(node.test) else None
    here.finite_checks += is_guard
    if filtering is not None:
        filtering.filters += 1
    body = len(nodes)
    with here.builder.join() as join:
        with join.path(holds):
            lower_body(node.body, here)
        otherwise = len(nodes)
        with join.path(fails):
            lower_body(node.orelse, here)
    parts = range(start, body), range(body, otherwise), range(otherwise, len(nodes))
    if node.orelse and not is_guard and (atom := mode_chosen(nodes, *parts)):
        context.modes.add(atom.text)
    here.finite_checks -= is_guard
    if filtering is not None and not isinstance(node.body[-1], ast.Continue):
        filtering.filters -= 1


def lower_match(node: ast.Match, here: Activation) -> None:
    """Lower a `match` to a chain of branches, each of which may come out either way."""
    builder = here.builder
    with builder.collapsible():
        lower_expression(node.subject, here)
        with builder.join() as join:
            fails = builder.pending
            for case in node.cases:
                builder.pending = fails
                atom = Predicate(f"case @{case.pattern.lineno}", opaque=True)
                matches, fails = builder.branch(atom, True, case.pattern, here.frame)
                with join.path(matches):
                    lower_body(case.body, here)
            with join.path(fails):
                pass


def lower_conditional_expression(expr: ast.IfExp, here: Activation) -> None:
    """Lower both branches of `a if test else b`, those that can run."""
    builder = here.builder
    with builder.collapsible():
        holds, fails = lower_condition(expr.test, here.frame, here)
        with builder.join() as join:
            with join.path(holds):
                lower_expression(expr.body, here)
            with join.path(fails):
                lower_expression(expr.orelse, here)
