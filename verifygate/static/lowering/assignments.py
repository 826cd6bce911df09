"""Lower assignments: which variables hold a scaled loss, and what an assignment tells about later conditions."""

from __future__ import annotations

import ast
from collections import Counter
from functools import lru_cache

from verifygate.base.records import replace
from verifygate.static.lowering.conditionals import branch_on_enabled, lower_condition
from verifygate.static.lowering.context import Activation
from verifygate.static.lowering.dispatch import lower_expression
from verifygate.static.lowering.event_emission import emit_event
from verifygate.static.lowering.event_graph import Assign, Sources
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.access_paths import AccessPath
from verifygate.static.values.domain import Frame

_SWITCH_WORDS = ("scal", "amp", "fp16", "half", "mixed", "precision")


def lower_assign(node: ast.Assign, here: Activation) -> None:
    """Lower `a = b = value`."""
    lower_expression(node.value, here)
    for target in node.targets:
        assign(target, node.value, node, here)


def lower_annotated_assign(node: ast.AnnAssign, here: Activation) -> None:
    """Lower `a: T = value`; without a value it binds nothing."""
    if node.value is not None:
        lower_expression(node.value, here)
        assign(node.target, node.value, node, here)


def lower_augmented_assign(node: ast.AugAssign, here: Activation) -> None:
    """Lower `a += value`: what it held before is part of what it holds."""
    lower_expression(node.value, here)
    assign(node.target, node.value, node, here, augments=True)


def assign(
    target: ast.expr, value: ast.expr | None, node: ast.AST, here: Activation, *, augments: bool = False
) -> None:
    """Assign a value to a target, element by element to a tuple; no value stands for an element of an iterable."""
    if isinstance(target, ast.Tuple | ast.List):
        parallel = isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts)
        for index, part in enumerate(target.elts):
            assign(part, value.elts[index] if parallel else value, node, here, augments=augments)  # type: ignore[union-attr]
        return
    signals, guarded = here.context.signals, here.finite_checks > 0
    if event := signals.of_grad_assignment(target, value, here.frame, augments=augments, guarded=guarded):
        emit_event(event, node, here)
        return
    if isinstance(target, ast.Subscript) and value is not None:
        store_element(target.value, value, node, here)
    if not isinstance(target, ast.Name | ast.Attribute) or not here.builder.pending:
        return
    roles, path = here.roles, here.roles.path(target, here.frame)
    if isinstance(value, ast.Name | ast.Attribute | ast.Subscript) and roles.path(value, here.frame) == path:
        return  # an alias of the same object
    if value is None:
        is_iterated = isinstance(node, ast.For | ast.AsyncFor)
        element = _assigned(path, node.iter, here) if is_iterated else Assign(path)  # type: ignore[attr-defined]
        element = replace(element, truth=None, in_loop=bool(here.builder.loops), advances=True)
        here.builder.emit(element, node, here.frame)
        return
    known = roles.evaluator.truth(value, here.frame) is not None and _is_switch(target, value, here)
    apart = isinstance(value, ast.IfExp) and roles.scaler(target, here.frame) is not None
    assign_value(path, value, node, here, augments=augments, known=known, apart=apart)


def assign_value(
    path: AccessPath,
    value: ast.expr,
    node: ast.AST,
    here: Activation,
    *,
    augments: bool = False,
    known: bool = True,
    apart: bool = False,
) -> None:
    """Assign a value to a path; where `a if test else b` is scaled in one branch only, on a path of its own for each.

    Apart: on two paths in any case. Known: a constant value settles later conditions.
    """
    builder = here.builder
    if isinstance(value, ast.IfExp) and (apart or here.context.scaling.scaler_in(value, here.frame)):
        holds, fails = lower_condition(value.test, here.frame, here)
        with builder.join() as join:
            with join.path(holds):
                assign_value(path, value.body, node, here, augments=augments)
            with join.path(fails):
                assign_value(path, value.orelse, node, here, augments=augments)
    elif builder.pending:
        assigned = _assigned(path, value, here, augments=augments, known=known)
        scaler = here.context.scaling.scaler_in(value, here.frame) if assigned.scaled else None
        if scaler is None or scaler.enabled is None:
            builder.emit(assigned, node, here.frame)
            return
        enabled, disabled = branch_on_enabled(scaler.enabled, node, here)
        with builder.join() as join:
            with join.path(enabled):
                builder.emit(assigned, node, here.frame)
            with join.path(disabled):
                builder.emit(replace(assigned, scaled=False), node, here.frame)


def store_element(collection: ast.expr, value: ast.expr, node: ast.AST, here: Activation) -> None:
    """Put a value into a list, a set or a dict: once a scaled loss is in it, what is read from it is scaled."""
    if not here.builder.pending:
        return
    stored = _assigned(here.roles.path(collection, here.frame), value, here, augments=True)
    if stored.scaled or isinstance(value, ast.Name):  # a name may have been given one before
        here.builder.emit(replace(stored, advances=False), node, here.frame)


def pass_arguments(call: ast.Call, entered: Frame, here: Activation) -> None:
    """Assign to a parameter the scaled loss that it is called with, where it is not a mere alias of the argument."""
    for name, argument in entered.arguments.items():
        is_scaled = here.context.scaling.scaler_in(argument.expr, argument.frame) is not None
        is_rebound = len(entered.function.scope.names.get(name, ())) > 1
        if is_scaled or is_rebound or returned_in(argument.expr, here):
            parameter = ast.copy_location(ast.Name(name, ast.Load()), argument.expr)
            assign_value(here.roles.path(parameter, entered), argument.expr, call, here)


def returned_in(expr: ast.expr, here: Activation) -> frozenset[AccessPath]:
    """What inlined functions return to the calls in an expression."""
    results = here.context.results
    if not results:
        return frozenset()
    return frozenset(results[node] for node in walk(expr) if isinstance(node, ast.Call) and node in results)


def _assigned(
    path: AccessPath, value: ast.expr, here: Activation, *, augments: bool = False, known: bool = True
) -> Assign:
    frame, scaling, returned = here.frame, here.context.scaling, returned_in(value, here)
    scaler = scaling.scaler_in(value, frame)
    scaled = scaler is not None and scaler.kind != "idle"
    truth = here.roles.evaluator.truth(value, frame) if known and not augments else None
    sources = Sources(lambda: scaling.sources(value, frame) | returned)
    origin = scaler.origin if scaler is not None else None
    return Assign(path, sources, scaled, truth, bool(here.builder.loops), augments, advances=augments, origin=origin)


def _is_switch(target: ast.expr, value: ast.expr, here: Activation) -> bool:
    """Whether an assigned value may decide later on if AMP is on, if a step is left out, or what an optimizer did.

    Only such facts are worth a path of their own.
    """
    is_constant = isinstance(value, ast.Constant) and isinstance(value.value, bool)
    if is_constant and (here.builder.collections or ast.unparse(target) in _flags(here.frame.function)):
        return True
    name = last_name(target).lower()
    return any(word in name for word in _SWITCH_WORDS) or bool(here.roles.scaler(target, here.frame))


@lru_cache(maxsize=256)
def _flags(function: Function) -> frozenset[str]:
    """The variables and attributes that a function sets several times, and that a condition tests and nothing else."""
    tests = [node.test for node in function.of_kind(ast.If)] + [node.test for node in function.of_kind(ast.While)]
    found = set()
    while tests:
        match tests.pop():
            case ast.BoolOp(values=parts):
                tests += parts
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                tests.append(inner)
            case (ast.Name() | ast.Attribute()) as flag:
                found.add(ast.unparse(flag))
    set_by = Counter(ast.unparse(target) for node in function.of_kind(ast.Assign) for target in node.targets)
    return frozenset(flag for flag in found if set_by[flag] > 1)
