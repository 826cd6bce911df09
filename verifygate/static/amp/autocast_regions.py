"""Index of autocast regions by their syntax: which nodes are in a region, and which region encloses it.

`with torch.autocast("cuda"): loss = model(x)` is a region that binds `loss`. The event graph has what runs in a region,
through calls, too; rules about variables, devices and contexts need only what is in its body.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import cached_property

from verifygate.base.records import record
from verifygate.static.amp.roles import Region, Roles
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function, Module
from verifygate.static.syntax.exit_stacks import stacked
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import Frame

Opens = Callable[[ast.expr, Frame], Region | None]
"""Gives the region that entering an expression opens, or None."""


@record(eq=False, slots=False)
class WrittenRegion:
    """A `with` over an autocast context, or a function that one decorates."""

    region: Region
    function: Function
    """The function that contains it, or the decorated one."""
    context: ast.expr
    block: ast.AST
    """The `with` statement, or the definition of the decorated function."""
    around: WrittenRegion | None = None

    @property
    def place(self) -> Location:
        return Location(self.function, self.context)

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """The nodes of the body in source order, without the bodies of nested functions."""
        if self.block is self.function.node:
            return self.function.own_nodes
        body = self.block.body  # type: ignore[attr-defined]
        inside = {node for statement in body for node in walk(statement)}
        return tuple(node for node in self.function.own_nodes if node in inside)

    @cached_property
    def calls(self) -> tuple[ast.Call, ...]:
        return tuple(node for node in self.nodes if isinstance(node, ast.Call))

    @cached_property
    def binds(self) -> frozenset[str]:
        """The names that the body assigns."""
        return frozenset(
            node.id for node in self.nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        )

    @property
    def is_active(self) -> bool:
        return self.region.active


class WrittenRegions:
    """The regions of some modules, enclosing ones first; those of another kind than autocast's by what opens them."""

    def __init__(self, modules: list[Module], roles: Roles, opened_by: Opens | None = None) -> None:
        self.roles = roles
        self._region = opened_by or roles.region
        self.all = [region for module in modules for region in self._of_module(module)]

    @property
    def some_active(self) -> bool:
        """Whether any region may be enabled."""
        return any(region.is_active for region in self.all)

    def frame(self, function: Function) -> Frame:
        return self.roles.evaluator.root_frame(function)

    @cached_property
    def by_function(self) -> dict[Function, list[WrittenRegion]]:
        found: dict[Function, list[WrittenRegion]] = {}
        for region in self.all:
            found.setdefault(region.function, []).append(region)
        return found

    def _of_module(self, module: Module) -> Iterator[WrittenRegion]:
        for function in module.all_functions:
            yield from self._of_function(function)

    def _of_function(self, function: Function) -> Iterator[WrittenRegion]:
        outer: WrittenRegion | None = None
        module = self.frame(function.module.body)
        for decorator in getattr(function.node, "decorator_list", ()):
            if isinstance(decorator, ast.Call) and (region := self._opened_by(decorator, module)):
                outer = WrittenRegion(region, function, decorator, function.node, outer)
                yield outer
        open_regions = [outer] if outer else []
        for node in function.withs:
            for context, may_be_left in (*((item.context_expr, False) for item in node.items), *stacked(node)):
                region = self._region(context, self.frame(function))
                if region is None or (may_be_left and not region.active):
                    continue
                if may_be_left:
                    region = Region(True, region.enabled, region.made, region.instead, optional=True)
                around = next((each for each in reversed(open_regions) if _holds(each, node)), None)
                made = WrittenRegion(region, function, context, node, around)
                open_regions.append(made)
                yield made

    def _opened_by(self, decorator: ast.Call, module: Frame) -> Region | None:
        """The region that a decorator opens; `custom_fwd(cast_inputs=torch.float32)` opens a float32 island."""
        cast = next((word.value for word in decorator.keywords if word.arg == "cast_inputs"), None)
        if cast is None:
            return self._region(decorator, module)
        to_float32 = self.roles.known_name(cast, module) == "torch.float32"
        forward = self.roles.known_name(decorator.func, module).endswith(".custom_fwd")
        return Region(False) if to_float32 and forward else None


def _holds(outer: WrittenRegion, node: ast.stmt) -> bool:
    """Whether a region encloses a statement, or is an earlier item of the same `with`."""
    if outer.block is outer.function.node or outer.block is node:
        return True
    end = getattr(outer.block, "end_lineno", None) or 0
    return bool(outer.block.lineno < node.lineno <= end)  # type: ignore[attr-defined]
