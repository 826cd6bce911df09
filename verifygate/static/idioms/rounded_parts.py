"""Parts of a model that a cast to half changes more than others: exponents that are exponentiated, routers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.base.records import record
from verifygate.static.analysis import Analysis
from verifygate.static.idioms.frequency_buffers import OWN_CASTS, parts, with_definitions
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Class, Function
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import ExternalResult

_DEPTH = 4
_EXPONENTIALS = frozenset({"exp", "exp2", "expm1"})


@record(eq=False)
class RoundedPart:
    """An attribute of a module that a cast of the whole model rounds."""

    name: str
    place: Location
    router: bool
    """Whether it is a layer that chooses experts; else a parameter in logarithms, which is exponentiated."""


def rounded_parts(made: Class, analysis: Analysis, depth: int = _DEPTH) -> Iterator[RoundedPart]:
    """Such parts of the objects of a class, and of the modules that its constructor makes."""
    methods = [method for each in analysis.evaluator.linearised(made) for method in each.methods.values()]
    if any(method.name in OWN_CASTS for method in methods):
        return  # it casts itself in a way of its own
    others = [method for method in methods if method.name != "__init__"]
    for constructor in (method for method in methods if method.name == "__init__"):
        for node in constructor.of_kind(ast.Assign):
            name = _own_attribute(node.targets[0])
            if not name:
                continue
            if _is_of_logarithms(node.value, constructor) and any(_exponentiates(each, name) for each in others):
                yield RoundedPart(name, Location(constructor, node), router=False)
            elif _is_layer(node.value, constructor, analysis) and any(
                _chooses(each, name, constructor) for each in others
            ):
                yield RoundedPart(name, Location(constructor, node), router=True)
        for part in parts(constructor, analysis) if depth else ():
            if part is not made:
                yield from rounded_parts(part, analysis, depth - 1)


def _own_attribute(node: ast.AST) -> str:
    """`name` of `self.name`; empty for anything else."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
        return node.attr
    return ""


def _is_of_logarithms(value: ast.expr, constructor: Function) -> bool:
    """Whether it is a parameter that begins as logarithms of whole numbers."""
    if not (isinstance(value, ast.Call) and last_name(value.func) == "Parameter" and value.args):
        return False
    nodes = with_definitions(value.args[0], constructor)
    called = {last_name(node.func) for node in nodes if isinstance(node, ast.Call)}
    return {"log", "arange"} <= called


def _exponentiates(method: Function, name: str) -> bool:
    return any(
        last_name(call.func) in _EXPONENTIALS and any(_own_attribute(node) == name for node in walk(call))
        for call in method.calls
    )


def _is_layer(value: ast.expr, constructor: Function, analysis: Analysis) -> bool:
    if not isinstance(value, ast.Call) or last_name(value.func) != "Linear":
        return False
    values = analysis.evaluator.values(value, analysis.evaluator.root_frame(constructor))
    return any(isinstance(each, ExternalResult) and each.name == "torch.nn.Linear" for each in values)


def _chooses(method: Function, name: str, constructor: Function) -> bool:
    """Whether the greatest of what a layer gives are taken, and modules of a list are picked by number beside it."""
    ranked = False
    for call in method.calls:
        if last_name(call.func) != "topk":
            continue
        receiver = [call.func.value] if isinstance(call.func, ast.Attribute) else []
        ranked |= any(
            isinstance(node, ast.Call) and _own_attribute(node.func) == name
            for given in (*call.args[:1], *receiver)
            for node in with_definitions(given, method)
        )
    if not ranked:
        return False
    lists = {
        _own_attribute(node.targets[0])
        for node in constructor.of_kind(ast.Assign)
        if isinstance(node.value, ast.Call) and last_name(node.value.func) == "ModuleList"
    } - {""}
    picked = {_own_attribute(node.value) for node in method.of_kind(ast.Subscript)}
    picked |= {
        _own_attribute(each) for call in method.calls if last_name(call.func) == "enumerate" for each in call.args
    }
    return bool(lists & picked)


def is_brought_back(part: RoundedPart, cast: Location, analysis: Analysis) -> bool:
    """Whether the function that casts the model makes this part float32 again, by its name or among all modules."""
    function = cast.function
    if not part.router:
        return False
    frame = analysis.evaluator.root_frame(function)
    for call in function.calls:
        if (
            call is cast.node
            or not isinstance(call.func, ast.Attribute)
            or call.lineno < getattr(cast.node, "lineno", 0)
        ):
            continue
        wide = call.func.attr == "float" or (
            call.func.attr == "to"
            and any(
                str(dtype).endswith("float32") for each in call.args for dtype in analysis.dtype_values.of(each, frame)
            )
        )
        if wide and (_names(call.func.value, part.name) or _is_a_module_of(call.func.value, function)):
            return True
    return False


def _names(expr: ast.expr, name: str) -> bool:
    return any(isinstance(node, ast.Attribute) and node.attr == name for node in walk(expr))


def _is_a_module_of(expr: ast.expr, function: Function) -> bool:
    """Whether it is one of all modules of something, one after the other."""
    names = {node.id for node in walk(expr) if isinstance(node, ast.Name)}
    for loop in function.of_kind(ast.For):
        bound = {node.id for node in walk(loop.target) if isinstance(node, ast.Name)}
        walked = {last_name(node.func) for node in walk(loop.iter) if isinstance(node, ast.Call)}
        if names & bound and walked & {"modules", "named_modules", "children", "named_children"}:
            return True
    return False
