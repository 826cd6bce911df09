"""AMP code that goes out of sight: what is done there with a scaler or a scaled loss is not checked, and that is said.

accelerated(scaler.scale(loss), optimizer)      # of a library, or a parameter
with self.precision.context():                  # a region, perhaps
    loss = model(batch)
scaler.scale(loss).backward()
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

from verifygate.naming import names_a_loss
from verifygate.static.amp.autocast_regions import WrittenRegion
from verifygate.static.amp.roles import Roles
from verifygate.static.amp.scaler_calls import ScalerCall
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import ExternalName, ExternalResult, Unknown

_MOST = 3
"""Places that are listed of one function."""
_OWN = ("torch.", "builtins.", "copy.", "typing.")

Notes = Iterator[tuple[Location, str]]


def unfollowed_calls(
    functions: Iterable[Function],
    calls: Iterable[ScalerCall],
    regions: Mapping[Function, list[WrittenRegion]],
    roles: Roles,
) -> Notes:
    """The places, each with what is not known there."""
    scaling: dict[Function, list[ast.Call]] = {}
    for call in calls:
        if call.method == "scale":
            scaling.setdefault(call.function, []).append(call.call)
    for function in functions:
        if not function.module.mentions(b"scal") or function.module.file.is_test:
            continue
        own = scaling.get(function, [])
        found = [*_handed_on(function, own, roles)]
        if own and not regions.get(function):
            found += _contexts(function, own, roles)
        yield from found[:_MOST]


def _handed_on(function: Function, scaling: list[ast.Call], roles: Roles) -> Notes:
    """Calls out of sight that are given a scaled loss, or a scaler with the optimizer or the loss."""
    frame = roles.evaluator.root_frame(function)
    for call in function.calls:
        given = [*call.args, *(word.value for word in call.keywords)]
        scaled = [each for each in given if each in scaling]
        names = [each for each in given if isinstance(each, ast.Name | ast.Attribute)]
        scalers = [each for each in names if "scal" in last_name(each).lower() and roles.scaler(each, frame)]
        with_it = scalers and any(
            each not in scalers and (names_a_loss(last_name(each)) or roles.is_optimizer(each, frame)) for each in names
        )
        if (scaled or (with_it and _may_step(call))) and _is_out_of_sight(call.func, function, roles):
            what = "the scaled loss" if scaled else f"`{ast.unparse(scalers[0])}`"
            yield Location(function, call), f"what `{ast.unparse(call.func)}` does with {what} is not in sight"


def _may_step(call: ast.Call) -> bool:
    """Whether a call may take part in a step: one that saves or shows what it is given takes none."""
    return not any(word in last_name(call.func).lower() for word in ("save", "load", "checkpoint", "ckpt", "log"))


def _is_out_of_sight(func: ast.expr, function: Function, roles: Roles) -> bool:
    values = roles.evaluator.values(func, roles.evaluator.root_frame(function))
    return bool(values) and all(
        isinstance(value, Unknown | ExternalResult)
        or (isinstance(value, ExternalName) and not value.name.startswith(_OWN))
        for value in values
    )


def _contexts(function: Function, scaling: list[ast.Call], roles: Roles) -> Notes:
    """Contexts that cannot be told, in which a loss is computed that is scaled afterwards; where no region is known."""
    frame = roles.evaluator.root_frame(function)
    losses = {node.id for call in scaling for each in call.args for node in walk(each) if isinstance(node, ast.Name)}
    for block in function.withs:
        bound = {node.id for node in walk(block) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        if not bound & losses:
            continue
        for item in block.items:
            values = roles.evaluator.values(item.context_expr, frame)
            if values and all(isinstance(value, Unknown) for value in values):
                what = ast.unparse(item.context_expr)
                reason = f"whether `{what}` is an autocast region cannot be told: this loss is scaled behind it"
                yield Location(function, item.context_expr), reason
