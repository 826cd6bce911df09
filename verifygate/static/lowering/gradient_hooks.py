"""Hooks that a backward runs: `parameter.register_post_accumulate_grad_hook(step_at_once)`.

What such a hook does happens inside the backward: a step there is over before the code after the backward begins. A
hook under a condition runs where that holds.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.base.records import record
from verifygate.static.lowering.conditionals import lower_condition
from verifygate.static.lowering.context import Activation, GradientHook
from verifygate.static.lowering.event_graph import Backward, ForeignBackward, Signal
from verifygate.static.lowering.inlining import inline
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.access_paths import AccessPath
from verifygate.static.values.domain import Bound, Frame, FunctionValue
from verifygate.torch_names import GRADIENT_HOOKS


@record
class _Condition:
    test: Bound
    holds: bool


def note_gradient_hook(call: ast.Call, here: Activation) -> None:
    """Keep what a call registers, if that is a hook with events; each backward from here on runs it."""
    if not (isinstance(call.func, ast.Attribute) and call.func.attr in GRADIENT_HOOKS and call.args):
        return
    frame = here.frame.after_loops
    if any(each.call is call and each.frame.function is frame.function for each in here.context.gradient_hooks):
        return
    for value in here.roles.evaluator.values(call.args[0], frame):
        if isinstance(value, FunctionValue) and here.context.reach.has_events(value.function):
            here.context.gradient_hooks.append(GradientHook(value, call, frame))


def run_gradient_hooks(event: Signal | Backward | ForeignBackward | None, here: Activation) -> None:
    """Inline the hooks that are registered, each where the conditions of its registration hold."""
    if not isinstance(event, Backward | ForeignBackward):
        return
    for hook in here.context.gradient_hooks:
        if here.frame.entered(hook.callee.function):
            continue
        elsewhere = []
        for each in _conditions(hook, here):
            holds, fails = lower_condition(each.test.expr, each.test.frame, here)
            here.builder.pending, others = (holds, fails) if each.holds else (fails, holds)
            elsewhere += others
        if here.builder.pending:
            _run(hook, here)
        here.builder.pending = here.builder.pending + elsewhere


def _run(hook: GradientHook, here: Activation) -> None:
    """Inline a hook. What it takes by its parameter, each parameter has one of, as in a loop over all of them."""
    parameter = hook.call.func.value  # type: ignore[attr-defined]
    call = ast.copy_location(ast.Call(hook.call.args[0], [parameter], []), hook.call)
    entered = here.roles.evaluator.enter(hook.callee, call, hook.frame)
    keyed = list(_keyed_by_parameter(hook.callee.function, entered, here)) if entered is not None else []
    here.builder.collections += keyed
    inline(hook.callee, call, Activation(hook.frame, here.context))
    del here.builder.collections[len(here.builder.collections) - len(keyed) :]


def _keyed_by_parameter(function: Function, frame: Frame, here: Activation) -> Iterator[AccessPath]:
    """The elements of collections that a hook takes by the parameter that it is called for: `optimizers[p]`."""
    own = {each.arg for each in function.parameters}
    for node in function.of_kind(ast.Subscript):
        if isinstance(node.slice, ast.Name) and node.slice.id in own and len(function.scope.names[node.slice.id]) == 1:
            element = here.roles.object(node, frame)
            if element.ends_in_any_element:
                yield element


def _conditions(hook: GradientHook, here: Activation) -> Iterator[_Condition]:
    """What was asked on the way to the registration, outermost first, but for which parameters are to have it."""
    found: list[_Condition] = []
    around = list(_chain(here.frame))
    node = hook.call
    for frame in _chain(hook.frame):
        chosen = {
            each.id
            for loop in here.roles.enclosing.loops(node, frame.function)
            if isinstance(loop, ast.For)
            for each in walk(loop.target)
            if isinstance(each, ast.Name)
        }
        for test, holds in here.roles.enclosing.conditions(node, frame.function):
            if not any(isinstance(each, ast.Name) and each.id in chosen for each in walk(test)):
                found.append(_Condition(Bound(test, frame), holds))
        if frame.call is None or frame in around:
            break  # what led here led to the backward as well
        node = frame.call
    return reversed(found)


def _chain(frame: Frame | None) -> Iterator[Frame]:
    """A frame, and those that led to it."""
    while frame is not None:
        yield frame
        frame = frame.caller
