"""Methods that no class in sight has: what a call of one does is not followed, and that is said.

def epoch(optimizer, scaler, loader, tracker: Any):
    ...
    tracker.log_scalar("overflow", 1.0)     # each call of `epoch` gives a Tracker, which has a `log`
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Class, Function
from verifygate.static.values.call_graph import CallGraph
from verifygate.static.values.domain import ClassValue, Frame, Object
from verifygate.static.values.evaluator import Evaluator

_DYNAMIC = frozenset({"setattr", "__dict__", "__getattr__", "__getattribute__", "__slots__"})


def missing_methods(
    functions: Iterable[Function], evaluator: Evaluator, callers: CallGraph
) -> Iterator[tuple[Location, str]]:
    """The calls on parameters that are given objects of the project's own classes alone, none with the method."""
    for function in functions:
        given: dict[str, set[Class]] = {}
        for call in function.calls:
            match call.func:
                case ast.Attribute(value=ast.Name(id=name), attr=attr) if _is_parameter(name, function):
                    if name not in given:
                        given[name] = _classes_given(name, function, evaluator, callers)
                    if given[name] and not any(_may_have(made, attr, evaluator) for made in given[name]):
                        classes = " and ".join(sorted(f"`{made.symbol}`" for made in given[name]))
                        reason = f"what `{ast.unparse(call.func)}` does: {classes}, which `{name}` is, has no `{attr}`"
                        yield Location(function, call), reason


def _is_parameter(name: str, function: Function) -> bool:
    bindings = function.scope.names.get(name, ())
    return len(bindings) == 1 and bindings[0].kind == "parameter" and name != _receiver(function)


def _receiver(function: Function) -> str:
    return function.parameters[0].arg if function.owner is not None and function.parameters else ""


def _classes_given(name: str, function: Function, evaluator: Evaluator, callers: CallGraph) -> set[Class]:
    """The classes of what every call gives a parameter; empty where one may give anything else, or none is in sight."""
    found: set[Class] = set()
    for _, entered in callers.entries(function):
        bound = entered.arguments.get(name)
        values = evaluator.values(bound.expr, bound.frame) if bound is not None else ()
        if not values or not all(isinstance(each, Object) for each in values):
            return set()
        found |= {each.made for each in values if isinstance(each, Object)}
    return found


def _may_have(made: Class, attr: str, evaluator: Evaluator) -> bool:
    """Whether an object of a class may have an attribute: by a base that is not in sight, or by what is set later."""
    classes = evaluator.linearised(made)
    if any(each.node.decorator_list or each.node.keywords for each in classes):
        return True
    bases = ((base, evaluator.module_frame(each.module)) for each in classes for base in each.node.bases)
    if not all(_is_in_sight(*each, evaluator) for each in bases):
        return True
    if any(attr in each.methods or attr in each.attributes or _DYNAMIC & each.methods.keys() for each in classes):
        return True
    if any(_sets_any(node) for each in classes for method in each.methods.values() for node in method.own_nodes):
        return True
    return any(
        node.attr == attr and isinstance(node.ctx, ast.Store)
        for module in evaluator.modules
        for function in module.all_functions
        for node in function.of_kind(ast.Attribute)
    )


def _is_in_sight(base: ast.expr, frame: Frame, evaluator: Evaluator) -> bool:
    values = evaluator.values(base, frame)
    return bool(values) and all(isinstance(each, ClassValue) for each in values)


def _sets_any(node: ast.AST) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return name in _DYNAMIC
