"""A forward past DistributedDataParallel: nothing arms the reducer, so the backward behind it averages no gradient."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from verifygate.static.idioms.gradient_sync_flags import is_distributed, runs
from verifygate.static.rule import Match, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import Frame

if TYPE_CHECKING:
    from verifygate.static.analysis import Analysis

_REMEDY = "call the wrapper itself: `model(inputs)`; `.module` is for state_dict and for evaluation"


def forwards_past_ddp(function: Function, analysis: Analysis) -> Iterator[Match]:
    """Calls of the module that DDP wraps whose output goes backward, where the function never calls the wrapper.

    A function that reduces by itself is left alone.
    """
    if any(re.search(r"(?i)reduce|sync|average", last_name(call.func)) for call in function.calls):
        return
    frame = analysis.evaluator.root_frame(function)
    wrapped = dict(_wrapped(function, frame, analysis))
    for call in function.calls:
        match call.func:
            case ast.Attribute(value=wrapper, attr="module") if is_distributed(wrapper, frame, analysis):
                pass
            case ast.Name(id=name) if name in wrapped:
                wrapper = wrapped[name]
            case _:
                continue
        path = analysis.roles.path(wrapper, frame)
        if any(runs(other, path, frame, analysis, 2) for other in function.calls if other is not call):
            continue
        if (backward := _backward_of(call, function, analysis)) is None:
            continue
        place = Location(function, call)
        yield Match(
            place,
            f"`{statement_text(place)}` goes past `{ast.unparse(wrapper)}`, whose forward lets gradients be averaged",
            steps=((place, "the forward"), (Location(function, backward), "the backward that nothing reduces")),
            remedy=_REMEDY,
        )


def flows_into(expr: ast.expr, call: ast.Call, function: Function, seen: set[str]) -> bool:
    """Whether a call stands in an expression, or in what the names in it are bound to."""
    for node in walk(expr):
        if node is call:
            return True
        if isinstance(node, ast.Name) and node.id not in seen:
            seen.add(node.id)
            bound = (each.expr for each in function.scope.names.get(node.id, ()) if each.kind in ("value", "item"))
            if any(each is not None and flows_into(each, call, function, seen) for each in bound):
                return True
    return False


def _wrapped(function: Function, frame: Frame, analysis: Analysis) -> Iterator[tuple[str, ast.expr]]:
    """The names that modules keep when they are wrapped under another one, each with the wrapper's."""
    for put in function.of_kind(ast.Assign):
        match put:
            case ast.Assign(targets=[ast.Name(id=name) as target], value=ast.Call(args=[ast.Name(id=inner), *_])):
                if name != inner and is_distributed(put.value, frame, analysis):
                    yield inner, target


def _backward_of(call: ast.Call, function: Function, analysis: Analysis) -> ast.Call | None:
    """The backward that the output of a call goes into, in the same iteration."""
    for other in function.calls:
        match other.func:
            case ast.Attribute(value=loss, attr="backward") if other.lineno > call.lineno:
                same = analysis.enclosing.loops(other, function) == analysis.enclosing.loops(call, function)
                if same and flows_into(loss, call, function, set()):
                    return other
    return None
