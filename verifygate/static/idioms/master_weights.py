"""Master weights: float32 copies of half parameters that an engine keeps, and what may make others of the parameters.

An optimizer over half parameters loses updates only if it steps these very parameters. An engine that is handed the
optimizer may keep float32 copies, and what is frozen is not stepped.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.framework_names import ACCELERATE, FABRIC
from verifygate.static.analysis import Analysis
from verifygate.static.idioms.half_weights import HalfOptimizer, is_quantized
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name, turns_gradients_off
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import Object

_ENGINES = ("deepspeed.", "apex.", "megatron.", "colossalai.", "fairscale.")
"""Packages whose wrappers keep float32 copies of half parameters."""
_WRAPS = frozenset({"initialize", "boost", *ACCELERATE.wraps, *FABRIC.wraps})
"""Methods by which a framework takes a model or an optimizer over."""


def has_master_weights(half: HalfOptimizer, analysis: Analysis) -> bool:
    """Whether an engine that is known to keep float32 copies is handed the optimizer or its model."""
    if half.built is not None and half.built.has_master_weights:
        return True
    return any(_is_of_an_engine(call, half.function, analysis) for call in _handed_over(half, analysis))


def may_have_master_weights(half: HalfOptimizer, analysis: Analysis) -> bool:
    """Whether a framework is handed the optimizer or its model, and may keep float32 copies by its configuration."""
    if half.built is not None and half.built.may_have_master_weights:
        return True
    return any(last_name(call.func) in _WRAPS for call in _handed_over(half, analysis))


def _handed_over(half: HalfOptimizer, analysis: Analysis) -> Iterator[ast.Call]:
    """The calls in the function that are given the optimizer, or the model, as it is or by a name that it has there."""
    names = {ast.unparse(half.model), *_names_of(half.call, half.function, analysis)}
    if isinstance(around := analysis.enclosing.parent(half.call, half.function), ast.Call):
        yield around
    for call in half.function.calls:
        given = [*call.args, *(word.value for word in call.keywords)]
        if any(ast.unparse(each) in names for each in given if isinstance(each, ast.Name | ast.Attribute)):
            yield call


def _names_of(call: ast.Call, function: Function, analysis: Analysis) -> list[str]:
    parent = analysis.enclosing.parent(call, function)
    return [ast.unparse(target) for target in parent.targets] if isinstance(parent, ast.Assign) else []


def _is_of_an_engine(call: ast.Call, function: Function, analysis: Analysis) -> bool:
    name = analysis.roles.known_name(call.func, analysis.evaluator.root_frame(function))
    return name.startswith(_ENGINES)


def is_frozen_by(half: HalfOptimizer, analysis: Analysis) -> bool:
    """Whether parameters of the model are frozen where the optimizer is built, or in a function that gets the model.

    Those that are still trained may be float32: adapters that somebody put in.
    """
    function = half.function
    model = ast.unparse(half.model)
    if freezes(model, function) or _is_frozen_by_its_class(half, analysis):
        return True
    for call in function.calls:
        for frame in analysis.call_graph.entered(call, function):
            for name, bound in frame.arguments.items():
                if (
                    ast.unparse(bound.expr) == model
                    and bound.frame.function is function
                    and freezes(name, frame.function)
                ):
                    return True
    cast = half.way.cast
    return is_quantized(cast.node) or (
        cast.function is not function
        and any(freezes(each, cast.function) for each in (*_returned_names(cast.function), _cast_name(cast)))
    )


def _cast_name(cast: Location) -> str:
    """What a cast casts: `model` of `model.to(torch.bfloat16)`."""
    node = cast.node
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
    return ast.unparse(node)


def _is_frozen_by_its_class(half: HalfOptimizer, analysis: Analysis) -> bool:
    """Whether a method of a model's class, or of the class that builds the optimizer, freezes a part of the object."""
    frame = analysis.evaluator.root_frame(half.function)
    classes = [each.made for each in analysis.evaluator.values(half.model, frame) if isinstance(each, Object)]
    classes += [half.function.owner] if half.function.owner is not None else []
    return any(
        freezes("self", method)
        for made in classes
        for each in analysis.evaluator.linearised(made)
        for method in each.methods.values()
    )


def _returned_names(function: Function) -> Iterator[str]:
    for each in function.returns:
        yield from (ast.unparse(part) for part in (each.elts if isinstance(each, ast.Tuple) else [each]))


def freezes(model: str, function: Function) -> bool:
    """Whether a function turns gradients off for parameters of what it calls `model`, or of a part of it."""
    for call in function.calls:
        if turns_gradients_off(call) and _is_part(call.func.value, model, function):  # type: ignore[attr-defined]
            return True
    return any(
        isinstance(each.targets[0], ast.Attribute)
        and each.targets[0].attr == "requires_grad"
        and not (isinstance(each.value, ast.Constant) and each.value.value is True)
        and _is_part(each.targets[0].value, model, function)
        for each in function.of_kind(ast.Assign)
    )


def _is_part(owner: ast.expr, model: str, function: Function) -> bool:
    """Whether an expression is the model, a part of it, or the variable of a loop over its parameters."""
    if (text := ast.unparse(owner)) == model or text.startswith(f"{model}."):
        return True
    return isinstance(owner, ast.Name) and any(
        owner.id in {node.id for node in walk(loop.target) if isinstance(node, ast.Name)}
        and model in {ast.unparse(node) for node in walk(loop.iter) if isinstance(node, ast.Name | ast.Attribute)}
        for loop in function.of_kind(ast.For)
    )
