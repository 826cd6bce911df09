"""Is a disabled autocast region isolated, with no half-precision value flowing in or out.

A program may have autocast enabled in one step and disabled in another; a float32 island within a half-precision step
is no fault. A slice decides: backward over the definitions of what the region reads, forward over its calls.
"""

from __future__ import annotations

import ast
from functools import cached_property

from verifygate.base.fixpoint import fixpoint
from verifygate.static.amp.autocast_regions import WrittenRegion
from verifygate.static.analysis import Analysis
from verifygate.static.facts.step_tensors import names_in
from verifygate.static.symbols.program import Function
from verifygate.static.symbols.scopes import Binding

_FOLLOWED = frozenset({"value", "item", "iteration", "entry"})
_WORKED_OUT = frozenset({"value", "item", "changed"})
_DEPTH = 2
"""How many calls deep a model is searched for: `self.train_step(batch)` calls `self.model.render(...)`."""


def beside(region: WrittenRegion, taken: list[ast.expr]) -> frozenset[str] | None:
    """The other names in the backward slice of a value that depends on a region; else None."""

    def operands(name: str) -> list[str]:
        bound = () if name in region.binds else region.function.scope.names.get(name, ())
        values = [each.expr for each in bound if each.kind in _WORKED_OUT and each.expr is not None]
        return [inner for value in values for inner in names_in(value)]

    found = fixpoint((name for each in taken for name in names_in(each)), operands)
    return frozenset(found - region.binds) if found & region.binds else None


class Float32Islands:
    """Answers for the disabled regions of one program."""

    def __init__(self, analysis: Analysis, on: list[WrittenRegion]) -> None:
        self.analysis = analysis
        self.on = on
        """The regions of the program that may be enabled."""

    def is_isolated(self, region: WrittenRegion, loss: frozenset[str]) -> bool:
        """Whether a disabled region runs a model, and no value in it, or else in the `loss`, comes from autocast."""
        function = region.function
        if self._hidden or function in self.analysis.region_coverage.reached:
            return False
        if any(each.function is function and not each.binds.isdisjoint(loss) for each in self.on):
            return False
        if any(self._are_opposite_branches(region, each) for each in self.on):
            return False  # a setting chooses between the two
        if not any(self._runs_a_model(call, function, _DEPTH) for call in region.calls):
            return False
        seen: set[tuple[Function, str]] = {(function, name) for name in region.binds}
        return not any(self._may_be_half(node, function, seen) for node in region.nodes)

    def _are_opposite_branches(self, region: WrittenRegion, other: WrittenRegion) -> bool:
        """Whether two regions are on opposite branches of one condition."""
        ours, theirs = (self.analysis.enclosing.conditions(each.context, each.function) for each in (region, other))
        return any(test is asked and holds is not holding for test, holds in ours for asked, holding in theirs)

    def _runs_a_model(self, call: ast.Call, function: Function, depth: int) -> bool:
        """Whether a call runs a model, or a method of one: `self.model.render(rays)`."""
        ran = call.func.value if isinstance(call.func, ast.Attribute) else call.func
        if any(self.analysis.hot_loops.is_model(each, function) for each in (call.func, ran)):
            return True
        callees = self.analysis.call_graph.callees(call, function) if depth else ()
        return any(self._runs_a_model(inner, callee, depth - 1) for callee in callees for inner in callee.calls)

    @cached_property
    def _entering(self) -> frozenset[Function]:
        """The functions that enter an enabled region, directly or through calls."""
        return frozenset().union(*(self.analysis.call_graph.above(each.function) for each in self.on))

    @cached_property
    def _hidden(self) -> bool:
        """Whether a model enters a region in a method without known call sites: any call of a model may run it."""
        return any(
            made.owner is not None
            and (made.name == "forward" or not self.analysis.call_graph.sites(made))
            and any(base.startswith("torch.nn.") for base in self.analysis.evaluator.outside_bases(made.owner))
            for made in self._entering
        )

    @cached_property
    def _kept(self) -> frozenset[str]:
        """The attributes that enabled regions assign."""
        return frozenset(
            node.attr
            for region in self.on
            for node in region.nodes
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
        )

    def _may_be_half(self, node: ast.AST, function: Function, seen: set[tuple[Function, str]]) -> bool:
        """Whether a call enters an enabled region, or a name that is read was assigned in one."""
        match node:
            case ast.Call():
                return not self._entering.isdisjoint(self.analysis.call_graph.callees(node, function))
            case ast.Attribute(ctx=ast.Load(), attr=attr):
                return attr in self._kept
            case ast.Name(ctx=ast.Load(), id=name) if (function, name) not in seen:
                seen.add((function, name))
                if any(each.function is function and name in each.binds for each in self.on):
                    return True
                return any(
                    self._is_bound_to_half(each, name, function, seen) for each in function.scope.names.get(name, ())
                )
        return False

    def _is_bound_to_half(
        self, binding: Binding, name: str, function: Function, seen: set[tuple[Function, str]]
    ) -> bool:
        if binding.kind == "parameter":
            given = [(bound.expr, bound.frame.function) for _, bound in self.analysis.call_graph.given(name, function)]
        elif binding.kind in _FOLLOWED and binding.expr is not None and not isinstance(binding.node, ast.comprehension):
            given = [(binding.expr, function)]
        else:
            return False
        return any(self._may_be_half(node, home, seen) for expr, home in given for node in ast.walk(expr))


def is_scaled_alone(region: WrittenRegion, analysis: Analysis) -> bool:
    """Whether a live scaler scales the loss of a region that is off, and no region that is on has a part in it."""
    if region.is_active or region.around is not None or (loss := _scaled_of(region, analysis)) is None:
        return False
    files = analysis.import_graph.together(region.function.module.path)
    on = [each for each in analysis.written_regions.all if each.is_active and each.function.module.path in files]
    return not on or Float32Islands(analysis, on).is_isolated(region, loss)


def _scaled_of(region: WrittenRegion, analysis: Analysis) -> frozenset[str] | None:
    """What else is in the loss that a scaler made in sight scales; None where the region has no part in it.

    It is scaled in the function of the region, in one that the loss is handed to, or in one that the region calls.
    """
    for call in analysis.scaler_calls:
        if call.method != "scale" or not call.is_certain:
            continue
        if call.function is region.function:
            taken = [call.call]
        else:
            taken = [site.call for site in analysis.call_graph.sites(call.function) if site.caller is region.function]
        for each in taken:
            if each in region.calls:
                return frozenset()
            if (others := beside(region, each.args)) is not None:
                return others
    return None
