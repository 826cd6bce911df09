"""A forward past DistributedDataParallel: nothing arms the reducer, so the backward behind it averages no gradient."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from verifygate.static.amp.autograd_contexts import GradMode
from verifygate.static.idioms.gradient_sync_flags import is_distributed, runs
from verifygate.static.idioms.trained_parameters import is_trained
from verifygate.static.rule import Match, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import children
from verifygate.static.values.domain import ExternalResult, Frame

if TYPE_CHECKING:
    from verifygate.static.analysis import Analysis

_REMEDY = "call the wrapper itself: `model(inputs)`; `.module` is for state_dict and for evaluation"
_REDUCES = re.compile(r"(?i)reduce|sync|average|register_\w*hook")
_SHARED = re.compile(r"(?i)zero|distributed|shard|local_?sgd")
"""Optimizers whose step exchanges something."""
_DEPTH = 2
_STOPS = frozenset({"detach", "data", "item", "tolist", "argmax", "numpy"})
"""Methods and attributes of a tensor whose result no gradient goes through."""
_QUIET = frozenset(
    {"module", "device", "to", "train", "eval", "training", "zero_grad", "requires_grad_", "no_sync"}
    | {"parameters", "named_parameters", "buffers", "named_buffers", "modules", "named_modules"}
    | {"children", "named_children", "state_dict", "load_state_dict"}
)
"""Attributes of a wrapper that can be read, and called, without a forward of it."""


def forwards_past_ddp(function: Function, analysis: Analysis) -> Iterator[Match]:
    """Calls of the module that DDP wraps whose output goes backward to a step of its weights, where the function never
    calls the wrapper.

    Likely at most: that nothing else averages them is known by names alone. A function that reduces by itself, or lets
    another do so, is left alone; so is one that hands the wrapper on to what cannot be followed.
    """
    if any(_reduces(call, function, analysis, _DEPTH) for call in function.calls):
        return
    frame = analysis.evaluator.root_frame(function)
    wrapped = dict(_wrapped(function, frame, analysis))
    for call in function.calls:
        match call.func:
            case ast.Attribute(value=wrapper, attr="module") if is_distributed(wrapper, frame, analysis):
                pass
            case ast.Name(id=name) if name in wrapped and keeps_its_name(name, wrapped[name], call, function, analysis):
                wrapper = wrapped[name].targets[0]
            case _:
                continue
        if analysis.roles.autograd.at(call, frame) is not GradMode.ON or _may_run(wrapper, call, frame, analysis):
            continue
        backward = _backward_of(call, function, analysis)
        if backward is None or not _is_stepped(wrapper, backward, frame, analysis):
            continue
        place = Location(function, call)
        yield Match(
            place,
            f"`{statement_text(place)}` goes past `{ast.unparse(wrapper)}`, whose forward lets gradients be averaged",
            certain=False,
            assumes="nothing else averages the gradients, such as a hook or a function of another name",
            steps=((place, "the forward"), (Location(function, backward), "the backward that nothing reduces")),
            remedy=_REMEDY,
        )


def flows_into(expr: ast.AST, call: ast.Call, function: Function, seen: set[ast.AST]) -> bool:
    """Whether gradients go from an expression to a call: it stands in it, or in what names in it were bound to last."""
    if expr is call:
        return True
    if isinstance(expr, ast.Attribute) and expr.attr in _STOPS:
        return False
    if isinstance(expr, ast.Name):
        bindings = function.scope.names.get(expr.id, ())
        before = [each for each in bindings if _line(each.node) <= expr.lineno and each.node not in seen]
        for each in sorted(before, key=lambda each: _line(each.node), reverse=True):
            seen.add(each.node)
            if each.expr is not None and flows_into(each.expr, call, function, seen):
                return each.kind in ("value", "item", "changed")
            if each.kind != "changed":
                return False
    return any(flows_into(each, call, function, seen) for each in children(expr))


def keeps_its_name(name: str, wrapping: ast.stmt, call: ast.Call, function: Function, analysis: Analysis) -> bool:
    """Whether a name is still that of what was wrapped where a call of it runs, and the wrapping comes before that."""
    if len(function.scope.names.get(name, ())) != 1 or wrapping.lineno >= call.lineno:
        return False
    there = [(ast.unparse(test), holds) for test, holds in analysis.enclosing.conditions(call, function)]
    return all((ast.unparse(test), holds) in there for test, holds in analysis.enclosing.conditions(wrapping, function))


def _line(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)


def _reduces(call: ast.Call, function: Function, analysis: Analysis, depth: int) -> bool:
    """Whether a call may reduce gradients by what it is called, or by what the project's function calls."""
    if _REDUCES.search(last_name(call.func)):
        return True
    return depth > 0 and any(
        _reduces(inner, callee, analysis, depth - 1)
        for callee in analysis.call_graph.callees(call, function)
        for inner in callee.calls
        if callee is not function
    )


def _wrapped(function: Function, frame: Frame, analysis: Analysis) -> Iterator[tuple[str, ast.Assign]]:
    """The names that modules keep when they are wrapped under another one, each with the wrapping."""
    for put in function.of_kind(ast.Assign):
        match put:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(args=[ast.Name(id=inner), *_])):
                if name != inner and is_distributed(put.value, frame, analysis):
                    yield inner, put


def _may_run(wrapper: ast.expr, past: ast.Call, frame: Frame, analysis: Analysis) -> bool:
    """Whether a function may run the wrapper's own forward: where it calls it, or hands it on to what may."""
    function, path = frame.function, analysis.roles.path(wrapper, frame)
    if any(runs(other, path, frame, analysis, _DEPTH) for other in function.calls if other is not past):
        return True
    followed = {
        argument
        for call in function.calls
        if any(each.function.name != "__init__" for each in analysis.evaluator.callees(call, frame))
        for argument in (*call.args, *(word.value for word in call.keywords))
    }
    read = {each.value: each for each in ast.walk(function.node) if isinstance(each, ast.Attribute)}
    for node in ast.walk(function.node):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load) and node not in followed:
            by = read.get(node)
            if (by is None or by.attr not in _QUIET) and analysis.roles.path(node, frame) == path:
                return True
    return False


def _backward_of(call: ast.Call, function: Function, analysis: Analysis) -> ast.Call | None:
    """The backward that the output of a call goes into, in the same iteration."""
    here, loops = Location(function, call), analysis.enclosing.loops(call, function)
    for other in function.calls:
        match other.func:
            case ast.Attribute(value=loss, attr="backward") if other.lineno >= call.lineno:
                same = analysis.enclosing.loops(other, function) == loops
                there = Location(function, other)
                if same and analysis.path_conditions.agree(here, there) and flows_into(loss, call, function, set()):
                    return other
    return None


def _is_stepped(wrapper: ast.expr, backward: ast.Call, frame: Frame, analysis: Analysis) -> bool:
    """Whether an optimizer of the wrapper's weights steps after a backward, one that exchanges nothing."""
    for call in frame.function.calls:
        if last_name(call.func) != "step" or call.lineno <= backward.lineno or not isinstance(call.func, ast.Attribute):
            continue
        optimizer = call.args[0] if call.args else call.func.value
        values = analysis.evaluator.values(optimizer, frame)
        own = all(isinstance(each, ExternalResult) and not _SHARED.search(each.name) for each in values)
        if own and is_trained(ast.unparse(wrapper), optimizer, frame, analysis.evaluator):
            return True
    return False
