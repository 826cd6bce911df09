"""Inline a call: bind its arguments, lower the body of the callee, and join its returns."""

from __future__ import annotations

import ast

from verifygate.model import NotFollowed
from verifygate.static.amp.decorator_regions import around
from verifygate.static.lowering.assignments import pass_arguments
from verifygate.static.lowering.builder import TooLargeError
from verifygate.static.lowering.context import Activation, AtYield
from verifygate.static.lowering.dispatch import lower_body
from verifygate.static.lowering.event_graph import Enter, Leave
from verifygate.static.symbols.location import Location
from verifygate.static.values.access_paths import AccessPath, Root
from verifygate.static.values.domain import FunctionValue

MAX_DEPTH = 10
"""Calls inlined into each other."""
MAX_CALLS = 500
"""Calls inlined below one entry point; real training scripts need some forty."""


def inline(callee: FunctionValue, call: ast.Call, here: Activation, at_yield: AtYield | None = None) -> None:
    """Lower the body of a callee at its call, unless that is recursive or too deep."""
    context, builder = here.context, here.builder
    frame = here.roles.evaluator.enter(callee, call, here.frame)
    if frame is None:
        _not_followed(call, here, f"{callee.function.name} calls itself")
        return
    if frame.depth > MAX_DEPTH:
        _not_followed(call, here, f"calls nested deeper than {MAX_DEPTH}")
        return
    context.inlined += 1
    if context.inlined > MAX_CALLS:
        raise TooLargeError
    result = AccessPath(Root("result", f"result of line {call.lineno} in {here.frame.function.module.path}"))
    context.results[call] = result
    pass_arguments(call, frame, here)
    outer, builder.jumps = builder.jumps, 0
    lower_function(Activation(frame, context, result=result, at_yield=at_yield))
    # what leaves the callee leads to the end of the call; a body that is run at its `yield` may leave the caller
    builder.jumps = outer + (builder.jumps if at_yield is not None else 0)


def lower_function(here: Activation) -> None:
    """Lower the body of a function, inside the regions of its decorators where it has some."""
    function, builder = here.frame.function, here.builder
    builder.graph.functions.add(function)
    module = here.roles.evaluator.module_frame(function.module)
    decorators = getattr(function.node, "decorator_list", ())
    regions = [(each, region) for each in decorators if (region := here.roles.region(each, module))]
    regions += around(function, here.roles) if decorators else ()
    for decorator, region in regions:
        builder.emit(Enter(region.active, region.caches), decorator, here.frame)
    lower_body(function.node.body, here)
    builder.pending = builder.pending + here.returns
    for _ in regions:
        builder.emit(Leave(), function.node, here.frame)


def _not_followed(node: ast.AST, here: Activation, reason: str) -> None:
    place = Location(here.frame.function, node)
    here.context.not_followed.append(NotFollowed(path=place.path, line=place.line, reason=reason))
