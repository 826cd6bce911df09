"""Lower a generator of the project into what runs it: the body of a `with`, or the iterations of a loop.

    with self.optimize(loss):       # @contextmanager: scale, backward, `yield`, step, update
        clip_grad_norm_(...)        # happens at the `yield`

The body is lowered where the generator yields, so an event in it comes between those of the generator.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from verifygate.base.records import record
from verifygate.static.conditions.predicates import Predicate
from verifygate.static.lowering.assignments import assign, assign_value
from verifygate.static.lowering.builder import Edges
from verifygate.static.lowering.context import Activation, EarlyExits, Loop
from verifygate.static.lowering.dispatch import lower_body, lower_expression, lower_operands
from verifygate.static.lowering.inlining import MAX_DEPTH, inline
from verifygate.static.symbols.generators import is_manager
from verifygate.static.syntax.names import simple_name
from verifygate.static.values.domain import FunctionValue

_PASS_THROUGH = frozenset({"enumerate", "tqdm", "iter"})
"""What iterates over a generator and yields each element of it, perhaps with a number before it."""


@record(eq=False)
class GeneratorCall:
    """A call of a generator function with events."""

    callee: FunctionValue
    call: ast.Call


def generator_call(expr: ast.expr, here: Activation) -> GeneratorCall | None:
    """Resolve an expression to the one generator function with events that it calls."""
    while isinstance(expr, ast.Call) and simple_name(expr.func) in _PASS_THROUGH and expr.args:
        expr = expr.args[0]
    if not isinstance(expr, ast.Call) or not here.context.reach.names.may_mean(expr):
        return None
    callees = here.roles.evaluator.callees(expr, here.frame)
    if len(callees) != 1 or not (function := callees[0].function).is_generator:
        return None
    is_nested = here.frame.entered(function) or here.frame.depth >= MAX_DEPTH
    return GeneratorCall(callees[0], expr) if not is_nested and here.context.reach.has_events(function) else None


def manager_call(expr: ast.expr, here: Activation) -> GeneratorCall | None:
    """Resolve an expression to the generator function behind a context manager of the project."""
    found = generator_call(expr, here)
    return found if found is not None and is_manager(found.callee.function) else None


def lower_managed(manager: GeneratorCall, item: ast.withitem, body: Callable[[], None], here: Activation) -> None:
    """Lower a `with` around a body: however that is left, the generator resumes after its `yield`."""
    builder = here.builder
    exits: list[tuple[str, Edges]] = []

    def run() -> None:
        early_exits = EarlyExits(here)
        body()
        for kind, edges, early in early_exits.cut():
            builder.pending = builder.pending + early
            exits.append((kind, edges))

    _inline_around(manager, item.optional_vars, run, here)
    for kind, edges in exits if builder.pending else ():
        atom = Predicate(f"left by {kind} @{item.context_expr.lineno}", opaque=True)
        exiting, builder.pending = builder.branch(atom, True, item.context_expr, here.frame)
        edges += exiting


def lower_generator_loop(generator: GeneratorCall, node: ast.For | ast.AsyncFor, here: Activation) -> None:
    """Lower a loop over a generator: an iteration at each `yield`. To leave the loop ends the generator as well."""
    builder, loop = here.builder, Loop()

    def run() -> None:
        with here.inside(loop):
            lower_body(node.body, here)
        builder.pending, loop.continues = builder.pending + loop.continues, []

    assign(node.target, None, node, here)
    target = node.target
    if isinstance(node.iter, ast.Call) and simple_name(node.iter.func) == "enumerate":
        target = target.elts[-1] if isinstance(target, ast.Tuple) else target
    _inline_around(generator, target, run, here)
    lower_body(node.orelse, here)
    builder.pending = builder.pending + loop.breaks


def lower_yield(expr: ast.Yield | ast.YieldFrom, here: Activation) -> None:
    """Run what the caller does where its generator yields, or where one yields that this one delegates to."""
    if here.at_yield is None:
        lower_operands(expr, here)
        return
    if isinstance(expr, ast.YieldFrom) and (inner := generator_call(expr.value, here)):
        inline(inner.callee, inner.call, here, here.at_yield)
        return
    if expr.value is not None:
        lower_expression(expr.value, here)
    here.at_yield(expr.value if isinstance(expr, ast.Yield) else None, here)


def _inline_around(
    generator: GeneratorCall, target: ast.expr | None, run: Callable[[], None], here: Activation
) -> None:
    """Inline a generator; where it yields, `target` is assigned the yielded value, and `run` lowers what follows."""

    def at_yield(value: ast.expr | None, inside: Activation) -> None:
        if target is not None and value is not None:
            _assign_yielded(target, value, here, inside)
        run()

    inline(generator.callee, generator.call, here, at_yield)


def _assign_yielded(target: ast.expr, value: ast.expr, here: Activation, inside: Activation) -> None:
    """Assign to a variable of the caller what the generator yields."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for part, element in zip(target.elts, value.elts, strict=True):
            _assign_yielded(part, element, here, inside)
    elif isinstance(target, ast.Name | ast.Attribute):
        assign_value(here.roles.path(target, here.frame), value, value, inside)
