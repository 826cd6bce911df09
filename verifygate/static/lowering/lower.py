"""Lower a function, with every project function it calls, to one event graph."""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import cast

from verifygate.model import NotFollowed
from verifygate.static.amp.frozen_parameters import freeze
from verifygate.static.amp.roles import Roles
from verifygate.static.lowering.assignments import assign, lower_annotated_assign, lower_assign, lower_augmented_assign
from verifygate.static.lowering.builder import GraphBuilder
from verifygate.static.lowering.calls import lower_call, note_call_for_its_effect
from verifygate.static.lowering.conditionals import lower_conditional_expression, lower_if, lower_match
from verifygate.static.lowering.context import Activation, Context, DispatchTable
from verifygate.static.lowering.control_transfers import (
    lower_break,
    lower_continue,
    lower_raise,
    lower_return,
    lower_try,
)
from verifygate.static.lowering.dispatch import lower_expression
from verifygate.static.lowering.event_graph import Graph
from verifygate.static.lowering.generators import lower_yield
from verifygate.static.lowering.inlining import lower_function
from verifygate.static.lowering.loops import lower_for, lower_while
from verifygate.static.lowering.mode_branches import settle
from verifygate.static.lowering.optimizers_of_others import unite_optimizers_of_others
from verifygate.static.lowering.reachability import Reachability
from verifygate.static.lowering.regions_by_hand import lower_by_hand
from verifygate.static.lowering.with_statements import lower_with
from verifygate.static.lowering.wrapped_optimizers import unite_wrapped_optimizers
from verifygate.static.symbols.program import Class, Function
from verifygate.static.values.domain import Bound, Frame

_Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp


def _lower_expression_statement(node: ast.Expr, here: Activation) -> None:
    if lower_by_hand(node, here):
        return
    before = len(here.builder.graph.nodes)
    lower_expression(node.value, here)
    if isinstance(node.value, ast.Call) and len(here.builder.graph.nodes) == before:
        note_call_for_its_effect(node.value, here)


def _lower_assert(node: ast.Assert, here: Activation) -> None:
    lower_expression(node.test, here)


def _lower_comprehension(expr: _Comprehension, here: Activation) -> None:
    lower_for(_as_loop(expr), here)


@lru_cache(maxsize=1024)  # an expression is lowered again from each call of its function
def _as_loop(expr: _Comprehension) -> ast.For:
    """The `for` that does the same as a comprehension: `[each.step() for each in optimizers]`."""
    parts = (expr.key, expr.value) if isinstance(expr, ast.DictComp) else (expr.elt,)
    body: list[ast.stmt] = [ast.copy_location(ast.Expr(part), part) for part in parts]
    for over in reversed(expr.generators):
        for test in reversed(over.ifs):
            body = [ast.copy_location(ast.If(test, body, []), test)]
        body = [ast.copy_location(ast.For(over.target, over.iter, body, []), expr)]
    return cast("ast.For", body[0])


def _skip(_node: ast.AST, _here: Activation) -> None:
    """Lower nothing: the body of a lambda runs where that is called."""


_TABLE: DispatchTable = {
    # statements; any other has no events of its own
    ast.Expr: _lower_expression_statement,
    ast.Assign: lower_assign,
    ast.AnnAssign: lower_annotated_assign,
    ast.AugAssign: lower_augmented_assign,
    ast.If: lower_if,
    ast.Match: lower_match,
    ast.For: lower_for,
    ast.AsyncFor: lower_for,
    ast.While: lower_while,
    ast.With: lower_with,
    ast.AsyncWith: lower_with,
    ast.Try: lower_try,
    ast.Return: lower_return,
    ast.Raise: lower_raise,
    ast.Break: lower_break,
    ast.Continue: lower_continue,
    ast.Assert: _lower_assert,
    # expressions; of any other the operands are lowered
    ast.Call: lower_call,
    ast.IfExp: lower_conditional_expression,
    ast.Yield: lower_yield,
    ast.YieldFrom: lower_yield,
    ast.Lambda: _skip,
    ast.ListComp: _lower_comprehension,
    ast.SetComp: _lower_comprehension,
    ast.GeneratorExp: _lower_comprehension,
    ast.DictComp: _lower_comprehension,
}


class Lowering:
    """The lowering of one entry point; what it has found so far can be read after it has grown too large, too."""

    def __init__(self, root: Function, roles: Roles, reach: Reachability, entered: Frame | None = None) -> None:
        self._builder = GraphBuilder(root)
        self._context = Context(self._builder, roles, reach, _TABLE)
        self._entered = entered
        """The frame in which the one call of the entry point runs it, where what calls it is too large."""

    @property
    def graph(self) -> Graph:
        return self._builder.graph

    @property
    def effort(self) -> int:
        """How many nodes were built, with those that are left out of the graph again."""
        return self._builder.emitted

    @property
    def not_followed(self) -> list[NotFollowed]:
        return self._context.not_followed

    @property
    def led_past(self) -> list[Bound]:
        """The parts of conditions that lead past something that trains, by having one outcome alone."""
        return self._context.led_past

    def lower(self, subclass: Class | None = None, *, again: bool = False) -> Graph:
        """Raises TooLargeError where inlining does not end within the limits.

        `subclass`: for a method, the class of the object that it runs on, where that is one below its own.
        `again`: as something runs it that calls it for one step after the other, each time with other arguments.
        """
        root, roles, builder = self.graph.root, self._context.roles, self._builder
        entered = self._entered if subclass is None else None
        here = Activation(entered or roles.evaluator.heirs_frame(root, subclass), self._context)
        builder.emit_entry()
        if again:
            with builder.loop():
                self._assign_parameters(here)
                lower_function(here)
                builder.connect(builder.pending, 0)
        else:
            lower_function(here)
        unite_wrapped_optimizers(self.graph)
        unite_optimizers_of_others(self.graph)
        settle(self.graph, self._context.modes)
        self.graph.prune()
        several = len(self.graph.optimizers) > 1  # of a single one a loss leaves nothing behind
        self.graph.freezes = several and freeze(self.graph.functions, roles.evaluator)
        return self.graph

    def _assign_parameters(self, here: Activation) -> None:
        """Assign new arguments, but for the optimizers and scalers, which stay the same."""
        root, roles = self.graph.root, self._context.roles
        parameters = root.parameters[root.owner is not None and not root.is_static :]
        for name in (ast.copy_location(ast.Name(each.arg), each) for each in parameters):
            if not roles.is_optimizer(name, here.frame) and roles.scaler(name, here.frame) is None:
                assign(name, None, name, here)
