"""Lower a call: emit the event that it is, or inline the function that it runs."""

from __future__ import annotations

import ast

from verifygate.base.records import replace
from verifygate.static.conditions.normal_form import class_chosen, definition_chosen, operand_chosen
from verifygate.static.conditions.optional_objects import perhaps_none
from verifygate.static.conditions.predicates import Fact, Predicate
from verifygate.static.lowering.assignments import assign_value, returned_in, store_element
from verifygate.static.lowering.call_events import CallEffect
from verifygate.static.lowering.conditionals import branch_on_enabled, lower_condition
from verifygate.static.lowering.context import Activation
from verifygate.static.lowering.dispatch import lower_expression
from verifygate.static.lowering.event_emission import emit_event
from verifygate.static.lowering.event_graph import Backward, Branch, Escape
from verifygate.static.lowering.external_steps import is_out_of_sight
from verifygate.static.lowering.gradient_hooks import note_gradient_hook, run_gradient_hooks
from verifygate.static.lowering.inlining import inline
from verifygate.static.values.access_paths import AccessPath, Root
from verifygate.static.values.call_filter import scalers_given
from verifygate.static.values.domain import FunctionValue
from verifygate.static.values.overrides import is_left_open

_ADDING_METHODS = ("append", "extend", "add")


def lower_call(call: ast.Call, here: Activation) -> None:
    """Lower the operands of a call, then what it does: an event, or what the functions do that it may run."""
    lower_expression(call.func, here)
    for argument in (*call.args, *(word.value for word in call.keywords)):
        lower_expression(argument, here)
    context = here.context
    if not here.builder.pending:
        return
    if not context.reach.names.may_mean(call):
        _note_escape(call, here)
        return
    note_gradient_hook(call, here)
    meaning = context.signals.of_call(call, here.frame, here.finite_checks > 0)
    if meaning is not None:
        if (holder := perhaps_none(call, here.frame, here.roles)) is not None:  # a method of None raises
            here.builder.pending, _ = lower_condition(holder, here.frame, here)
        _lower_meaning(_with_receiver(meaning, call, here), call, here)
        return
    if isinstance(call.func, ast.Attribute) and call.func.attr in _ADDING_METHODS and call.args:
        store_element(call.func.value, call.args[0], call, here)
    callees = [
        callee
        for callee in here.roles.evaluator.callees(call, here.frame)
        if not callee.function.is_generator and context.reach.runs_events(callee, call, here.frame)
    ]
    if callees:
        _inline_one_of(callees, call, here)
    else:
        _note_escape(call, here)


def _note_escape(call: ast.Call, here: Activation) -> None:
    """Emit an escape where a call that cannot be followed is given a scaler."""
    if _is_given_a_scaler(call, here) and is_out_of_sight(call, here.frame, here.roles.evaluator):
        here.builder.emit(Escape(), call, here.frame)


def note_call_for_its_effect(call: ast.Call, here: Activation) -> None:
    """Emit an escape where a call that cannot be followed may run a step of the protocol that was handed over."""
    if not here.builder.pending or not here.context.reach.scaler_is_handed_over:
        return
    if is_out_of_sight(call, here.frame, here.roles.evaluator):
        here.builder.emit(Escape(), call, here.frame)


def _is_given_a_scaler(call: ast.Call, here: Activation) -> bool:
    """Whether a call is given a scaler, under a name that says so."""
    return any(here.roles.scaler(each, here.frame) for each in scalers_given(call))


def _lower_meaning(meaning: CallEffect, call: ast.Call, here: Activation) -> None:
    """Emit the event of a call, on a path of its own each for a scaler that is on and one that is off."""
    if meaning.closure is not None:
        _inline_closure(meaning.closure, call, here)
    if meaning.enabled is None or meaning.on is None:
        if meaning.on is not None:
            emit_event(meaning.on, call, here)
            run_gradient_hooks(meaning.on, here)
        return
    enabled, disabled = branch_on_enabled(meaning.enabled, call, here)
    with here.builder.join() as join:
        with join.path(enabled):
            emit_event(meaning.on, call, here)
        with join.path(disabled):
            if meaning.off is not None:
                emit_event(meaning.off, call, here)
    run_gradient_hooks(meaning.on, here)


def _with_receiver(meaning: CallEffect, call: ast.Call, here: Activation) -> CallEffect:
    """Complete a backward on `a if test else b`, or on what functions of the project return: as if that had a name."""
    receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
    if receiver is None or not isinstance(meaning.on, Backward):
        return meaning
    if isinstance(receiver, ast.IfExp) and here.context.scaling.scaler_in(receiver, here.frame):
        path = AccessPath(Root("result", f"loss of line {call.lineno} in {here.frame.function.module.path}"))
        assign_value(path, receiver, call, here)
        return CallEffect(Backward(frozenset({path})))
    roots = meaning.on.roots | returned_in(receiver, here)
    return replace(meaning, on=replace(meaning.on, roots=roots))


def _inline_closure(closure: ast.expr, call: ast.Call, here: Activation) -> None:
    """Inline the function that a call runs first: `optimizer.step(closure)`."""
    for value in here.roles.evaluator.values(closure, here.frame):
        if isinstance(value, FunctionValue) and here.context.reach.has_events(value.function):
            inline(value, ast.copy_location(ast.Call(func=closure, args=[], keywords=[]), call), here)


def _inline_one_of(callees: list[FunctionValue], call: ast.Call, here: Activation) -> None:
    """Inline each function that a call may run on a path of its own.

    One without events has a path too where a predicate tells when it is called.
    """
    may_run = here.roles.evaluator.callees(call, here.frame)
    others = [each for each in may_run if each not in callees and not is_left_open(each.function)]
    paths = [(each, _choice_of(each, call, here)) for each in (*callees, *others)]
    paths = [(callee, fact) for callee, fact in paths if callee in callees or fact is not None]
    if len(paths) == 1:
        inline(callees[0], call, here)
        return
    builder = here.builder
    start = builder.pending
    with builder.join() as join:
        for index, (callee, chosen) in enumerate(paths):
            fact = chosen or (Predicate(f"callee {index} @{call.lineno}:{call.col_offset}", opaque=True), True)
            builder.pending = start
            number = len(builder.graph.nodes)
            runs, _ = builder.branch(*fact, call, here.frame)
            node = builder.graph.nodes[number]
            node.payload = Branch(fact[0], is_dispatch=chosen is None)
            with join.path(runs):
                if callee in callees:
                    inline(callee, call, here)


def _choice_of(callee: FunctionValue, call: ast.Call, here: Activation) -> Fact | None:
    """What is known where a call runs one function and no other: the class of an object, or the outcome of a test."""
    of_class = class_chosen(callee, call, here.frame, here.roles)
    if of_class is not None:
        return of_class, True
    found = definition_chosen(callee, call, here.frame, here.roles)
    return found if found is not None else operand_chosen(callee, call, here.frame, here.roles)
