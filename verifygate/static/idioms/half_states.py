"""States of models that are made half on their way into a checkpoint."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from verifygate.base.records import record
from verifygate.static.analysis import Analysis
from verifygate.static.facts.dtype_lattice import HALVES, Dtype
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import Frame

_COPIES = re.compile(r"^(?:deep)?copy$|unwrap|parallel")
"""What gives a model again, or a copy of it, without what it is wrapped in."""
_MAX_STEPS = 3


@record(eq=False)
class HalfState:
    """The state of a model, or a copy of it, in a half dtype."""

    dtype: Dtype
    cast: Location
    model: ast.expr
    """What it is the state of."""
    frame: Frame
    """Where the model goes by that name."""


def half_state(expr: ast.expr, frame: Frame, analysis: Analysis, steps: int = 0) -> HalfState | None:
    """What an expression makes of a model's state, if that is half: by a cast of each weight, or of the model."""
    match expr:
        case ast.DictComp(generators=[generator, *_], value=value):
            model = _whose_items(generator.iter)
            cast = next(_half_casts(value, frame, analysis), None)
            if model is not None and cast is not None:
                return HalfState(*cast, model, frame)
        case ast.Call(func=ast.Attribute(value=holder, attr="state_dict")):
            return half_state(holder, frame, analysis, steps)
        case ast.Call(func=ast.Attribute(value=base)) if (made := _half_cast(expr, frame, analysis)) is not None:
            return HalfState(made, Location(frame.function, expr), _uncopied(base), frame)
        case ast.Call():
            return _returned(expr, frame, analysis, steps)
        case ast.Name(id=name) if steps < _MAX_STEPS:
            bound = frame.function.scope.names.get(name, ())
            if len(bound) == 1 and bound[0].kind == "value" and bound[0].expr is not None:
                return half_state(bound[0].expr, frame, analysis, steps + 1)
    return None


def _returned(call: ast.Call, frame: Frame, analysis: Analysis, steps: int) -> HalfState | None:
    """What a function of the project gives that is passed a model, or its state."""
    callees = analysis.evaluator.callees(call, frame) if steps < _MAX_STEPS else ()
    for callee in callees if len(callees) == 1 else ():
        entered = analysis.evaluator.enter(callee, call, frame)
        returns = callee.function.returns
        found = half_state(returns[0], entered, analysis, steps + 1) if entered and len(returns) == 1 else None
        given = (
            entered.arguments.get(found.model.id) if entered and found and isinstance(found.model, ast.Name) else None
        )
        if found is not None and given is not None:
            return HalfState(found.dtype, found.cast, _whose(given.expr), given.frame)
    return None


def _half_casts(value: ast.expr, frame: Frame, analysis: Analysis) -> Iterator[tuple[Dtype, Location]]:
    """The casts to half in what each weight becomes."""
    for each in walk(value):
        if isinstance(each, ast.Call) and (dtype := _half_cast(each, frame, analysis)) is not None:
            yield dtype, Location(frame.function, each)


def _half_cast(call: ast.Call, frame: Frame, analysis: Analysis) -> Dtype | None:
    """The half dtype that a call surely casts to."""
    cast = analysis.module_dtypes.cast(call, frame)
    return cast[0].dtype if len(cast) == 1 and cast[0].sure and cast[0].dtype in HALVES else None


def _whose_items(items: ast.expr) -> ast.expr | None:
    """The model in `model.state_dict().items()`, or what holds its state: `state` in `state.items()`."""
    match items:
        case ast.Call(func=ast.Attribute(value=state, attr="items")):
            return _whose(state)
    return None


def _whose(state: ast.expr) -> ast.expr:
    match state:
        case ast.Call(func=ast.Attribute(value=model, attr="state_dict")):
            return model
    return state


def _uncopied(model: ast.expr) -> ast.expr:
    """The model in `copy.deepcopy(model)` and in `copy.deepcopy(unwrap(model))`."""
    while isinstance(model, ast.Call) and _COPIES.search(last_name(model.func)) and len(model.args) == 1:
        model = model.args[0]
    return model


def bound_state(model: ast.expr, function: Function) -> ast.expr:
    """The model whose state a variable holds: `model` where `state = model.state_dict()`."""
    bound = function.scope.names.get(model.id, ()) if isinstance(model, ast.Name) else ()
    exprs = [each.expr for each in bound if each.kind == "value" and each.expr is not None]
    return _whose(exprs[0]) if len(exprs) == 1 and last_name(exprs[0]) == "state_dict" else model
