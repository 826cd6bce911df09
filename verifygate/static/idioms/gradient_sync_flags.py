"""`model.require_backward_grad_sync`, the flag of DistributedDataParallel that its forward reads, set by hand."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from verifygate.static.rule import Match, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name
from verifygate.static.values.access_paths import AccessPath
from verifygate.static.values.domain import ExternalResult, Frame

if TYPE_CHECKING:
    from verifygate.static.analysis import Analysis

_FLAG = "require_backward_grad_sync"
_DEPTH = 3
_TORCHS = re.compile(r"torch\.(\w+\.)*DistributedDataParallel$")


def late_flags(function: Function, analysis: Analysis) -> Iterator[Match]:
    """Settings of the flag after the forward and before the backward of one iteration: they come too late for it."""
    frame = analysis.evaluator.root_frame(function)
    for node, model in _settings(function):
        path = analysis.roles.path(model, frame)
        loops = analysis.enclosing.loops(node, function)
        place = Location(function, node)
        along = [
            call
            for call in function.calls
            if analysis.enclosing.loops(call, function) == loops
            and analysis.path_conditions.agree(place, Location(function, call))
        ]
        forwards = [call for call in along if runs(call, path, frame, analysis, _DEPTH)]
        backwards = [call for call in along if _differentiates(call, function, analysis)]
        before = [call for call in forwards if call.lineno < node.lineno]
        behind = [call.lineno for call in backwards if call.lineno > node.lineno]
        if not before or not behind:
            continue
        if any(node.lineno < call.lineno <= min(behind) for call in forwards):
            continue
        if any(before[-1].lineno < call.lineno < node.lineno for call in backwards):
            continue  # it is set for the next forward, and what comes behind differentiates that one
        yield Match(
            place,
            f"`{statement_text(place)}` comes after the forward of `{ast.unparse(model)}`, which reads the flag",
            certain=is_distributed(model, frame, analysis)
            and any(last_name(call.func) == "backward" for call in backwards),
            steps=((Location(function, before[-1]), "the forward reads the flag"),),
            remedy="set the flag before the forward of the micro-batch, or use `no_sync()` around forward and backward",
        )


def _settings(function: Function) -> Iterator[tuple[ast.stmt | ast.Call, ast.expr]]:
    """The places that set the flag, each with the model whose flag it is."""
    for node in function.of_kind(ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Attribute) and target.attr == _FLAG:
                yield node, target.value
    for call in function.calls:
        match call:
            case ast.Call(func=ast.Name(id="setattr"), args=[model, ast.Constant(value=flag), _]) if flag == _FLAG:
                yield call, model


def runs(call: ast.Call, path: AccessPath, frame: Frame, analysis: Analysis, depth: int) -> bool:
    """Whether a call runs a model forward: itself, or in a function of the project that has it from here."""
    if (
        isinstance(call.func, ast.Name | ast.Attribute | ast.Subscript)
        and analysis.roles.path(call.func, frame) == path
    ):
        return True
    if depth == 0:
        return False
    for callee in analysis.evaluator.callees(call, frame):
        entered = analysis.evaluator.enter(callee, call, frame)
        if entered is not None and any(
            runs(inner, path, entered, analysis, depth - 1) for inner in callee.function.calls
        ):
            return True
    return False


def _differentiates(call: ast.Call, function: Function, analysis: Analysis, depth: int = _DEPTH) -> bool:
    if last_name(call.func) == "backward":
        return True
    return depth > 0 and any(
        _differentiates(inner, callee, analysis, depth - 1)
        for callee in analysis.call_graph.callees(call, function)
        for inner in callee.calls
        if callee is not function
    )


def is_distributed(model: ast.expr, frame: Frame, analysis: Analysis) -> bool:
    """Whether an expression is torch's DistributedDataParallel, and nothing else: those of others reduce elsewhere."""
    values = analysis.evaluator.values(model, frame)
    return bool(values) and all(isinstance(value, ExternalResult) and _TORCHS.match(value.name) for value in values)
