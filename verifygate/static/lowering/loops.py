"""Lower `for` and `while`: back edges, exits, unrolled iterations, and iterations over collections of optimizers.

The elements of a collection share one access path. Path exploration tracks one of them, any one: some iteration is
about that one, all others are about another element, and what is done to that one is not done to the tracked one.
"""

from __future__ import annotations

import ast

from verifygate.base.records import replace
from verifygate.static.conditions.normal_form import fact_of
from verifygate.static.conditions.predicates import Predicate
from verifygate.static.lowering.assignments import assign
from verifygate.static.lowering.builder import Edges
from verifygate.static.lowering.conditionals import lower_condition
from verifygate.static.lowering.context import Activation, Loop
from verifygate.static.lowering.dispatch import lower_body, lower_expression
from verifygate.static.lowering.empty_loops import is_without_iterations
from verifygate.static.lowering.event_graph import Assign, Branch, Iterate, IterationPart, Pass
from verifygate.static.lowering.explicit_iterations import explicit_iterations, queue_iterations
from verifygate.static.lowering.generators import generator_call, lower_generator_loop
from verifygate.static.lowering.optimizer_loops import is_keyed_by, iterated_collections, selection
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.access_paths import AccessPath
from verifygate.static.values.contents import Row
from verifygate.static.values.domain import Literal

_LEAVING = ast.Return | ast.Raise | ast.Yield | ast.YieldFrom
"""What may leave a loop for good: at a `yield` the body of the caller is run, which may return."""
_For = ast.For | ast.AsyncFor


def lower_for(node: _For, here: Activation) -> None:
    """Lower a `for`: over a generator of the project, unrolled where its iterations are known, else as a cycle."""
    if generator := generator_call(node.iter, here):
        lower_generator_loop(generator, node, here)
        return
    if is_without_iterations(node, here.frame, here.roles):
        lower_body(node.orelse, here)
        return
    with here.builder.collapsible():
        jumps = here.builder.jumps
        iterations = explicit_iterations(node, here.frame, here.roles) or _single_iteration(node, here)
        if iterations:
            _lower_unrolled(node, iterations, here)
        else:
            _lower_repeated(node, here)
        _forget_own_jumps(node, jumps, here)


def lower_while(node: ast.While, here: Activation) -> None:
    """Lower a `while`: unrolled where it empties a queue; else its test is the head of the cycle, and the way out."""
    if iterations := queue_iterations(node, here.frame, here.roles):
        _lower_unrolled(node, iterations, here)
        return
    builder = here.builder
    with builder.collapsible():
        jumps, loop = builder.jumps, Loop()
        entry = builder.emit(Pass(), node, here.frame)
        head = builder.emit(Pass(), node, here.frame)
        with builder.loop(), here.inside(loop):
            builder.pending, leave = lower_condition(node.test, here.frame, here)
            for test in builder.graph.nodes[head + 1 :]:
                if isinstance(test.payload, Branch):
                    test.payload = replace(test.payload, is_loop_test=True)
            lower_body(node.body, here)
            builder.pending = builder.pending + loop.continues
            _close_cycle(entry, head, node, node.test, here)
        builder.pending = leave
        lower_body(node.orelse, here)
        builder.pending = builder.pending + loop.breaks
        _forget_own_jumps(node, jumps, here)


def _forget_own_jumps(node: _For | ast.While, before: int, here: Activation) -> None:
    """Discount the `break` and `continue` of a loop: they do not leave it."""
    if here.builder.jumps != before and not any(isinstance(inner, _LEAVING) for inner in walk(node)):
        here.builder.jumps = before


def _single_iteration(node: _For, here: Activation) -> list[Row]:
    """The iteration of a loop within a loop that has one, by a constant: `for _ in range(D_STEPS)`."""
    match node.iter:
        case ast.Call(func=ast.Name(id="range"), args=[count]) if here.builder.loops:
            values = here.roles.evaluator.values(count, here.frame)
            is_one = values and all(isinstance(value, Literal) and value.value == 1 for value in values)
            return [{}] if is_one else []
    return []


def _lower_unrolled(node: _For | ast.While, iterations: list[Row], here: Activation) -> None:
    """Lower iterations one after the other: over a few optimizers that are written out, or a single one."""
    builder, loop = here.builder, Loop()
    if not isinstance(node, ast.While):
        lower_expression(node.iter, here)
        if not any(iterations):
            assign(node.target, None, node, here)
    with builder.loop(), here.inside(loop):
        for number, variables in enumerate(iterations):
            inside = Activation(
                here.frame.in_iteration(node, number, variables),
                here.context,
                here.returns,
                here.loops,
                here.finite_checks,
                here.result,
            )
            lower_body(node.body, inside)
            builder.pending, loop.continues = builder.pending + loop.continues, []
    lower_body(node.orelse, here)
    builder.pending = builder.pending + loop.breaks


def _lower_repeated(node: _For, here: Activation) -> None:
    """Lower a `for` to a cycle that runs at least once: nobody trains on nothing."""
    builder, loop = here.builder, Loop()
    lower_expression(node.iter, here)
    collections = iterated_collections(node, here.frame, here.roles)
    builder.graph.presumed.update(each for each in collections if not is_keyed_by(node, each, here.frame, here.roles))
    _enter_collections(collections, node, here)
    assign(node.target, None, node, here)  # what was known of its counter before is over
    entry = builder.emit(Pass(), node, here.frame)
    head = builder.emit(Pass(), node, here.frame)
    with builder.loop(), here.inside(loop):
        assign(node.target, None, node, here)
        _fork_elements(collections, node, here)
        lower_body(node.body, here)
        builder.pending = builder.pending + loop.continues
        ends = _close_cycle(entry, head, node, node.target, here)
    builder.pending = ends
    lower_body(node.orelse, here)
    builder.pending = builder.pending + loop.breaks
    for collection in collections:
        if builder.pending:
            builder.emit(Iterate(collection, IterationPart.LEAVE), node, here.frame)
        builder.collections.remove(collection)


def _enter_collections(collections: list[AccessPath], node: _For, here: Activation) -> None:
    """Enter a loop over the elements of collections: all of them, or those that a condition selects."""
    builder, frame = here.builder, here.frame
    builder.collections += collections
    selected = selection(node.iter, frame, here.roles) if collections else None
    for collection in collections:
        if selected is None:
            builder.emit(Iterate(collection, IterationPart.ENTER), node, frame)
            continue
        atom, wanted = fact_of(*selected, here.roles)
        if atom.opaque and isinstance(node.iter, ast.Name):  # what was selected stays so as long as the list lives
            names = here.roles.path(node.iter, frame)
            atom, wanted = Predicate(f"{collection} among {names}", frozenset({names})), True
        within, without = builder.branch(atom, wanted, selected[0], frame)
        with builder.join() as join:
            with join.path(within):
                builder.emit(Iterate(collection, IterationPart.ENTER), node, frame)
            with join.path(without):
                builder.emit(Iterate(collection, IterationPart.ENTER_WITHOUT), node, frame)


def _fork_elements(collections: list[AccessPath], node: _For, here: Activation) -> None:
    """Fork an iteration: it is about the tracked elements, or about others."""
    if not collections:
        return
    fork = here.builder.pending
    with here.builder.join() as join:
        for part in (IterationPart.TRACKED, IterationPart.OTHER):
            with join.path(fork):
                for collection in collections:
                    here.builder.emit(Iterate(collection, part), node, here.frame)


def _close_cycle(entry: int, head: int, node: _For | ast.While, place: ast.expr, here: Activation) -> Edges:
    """Connect the ends of the iterations to the head; returns those of iterations that may be the last.

    Where something in the loop queries if this is the first or the last iteration, the outcome is kept.
    """
    builder, nodes = here.builder, here.builder.graph.nodes
    payloads = (each.payload for each in nodes[head:])
    queried = {payload.atom for payload in payloads if isinstance(payload, Branch) and payload.atom.loop is node}
    atoms = sorted(queried, key=lambda each: each.text) if builder.pending else []
    for atom in atoms:
        if flag := atom.variable:  # the first? A flag of its own, cleared at the end of the first iteration
            nodes[entry].payload = Assign(flag, truth=True, in_loop=bool(builder.loops[1:]))
            builder.emit(Assign(flag, truth=False, in_loop=True), place, here.frame)
    ends = builder.pending
    for atom in atoms:
        if atom.variable is None:
            ends, builder.pending = builder.branch(atom, True, place, here.frame)
    builder.connect(builder.pending, head)
    return ends
