"""Buffers of a module that hold frequencies: worked out from `arange` by powers or quotients, and multiplied later."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.base.records import record
from verifygate.static.analysis import Analysis
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Class, Function
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import ClassValue

_DEPTH = 4
_POWERS = frozenset({"exp", "exp2", "pow", "float_power", "reciprocal", "logspace"})
_BOUNDED = frozenset({"sin", "cos", "polar", "softmax", "sigmoid", "tanh", "long", "int"})
"""What gives numbers that half precision holds well, or whole ones."""
_PRODUCTS = frozenset({"outer", "ger", "einsum", "matmul", "mul", "bmm", "mm"})
OWN_CASTS = frozenset({"_apply", "to", "half", "bfloat16"})


@record(eq=False)
class FrequencyBuffer:
    """A call that registers frequencies."""

    name: str
    place: Location


def frequency_buffers(made: Class, analysis: Analysis, depth: int = _DEPTH) -> Iterator[FrequencyBuffer]:
    """The frequencies in the objects of a class and in their parts, which its constructor makes."""
    methods = [method for each in analysis.evaluator.linearised(made) for method in each.methods.values()]
    if any(method.name in OWN_CASTS for method in methods):
        return  # it casts itself in a way of its own
    for method in methods:
        if method.name != "__init__":
            continue
        for call in method.calls:
            if last_name(call.func) == "register_buffer" and (name := _of_frequencies(call, method, methods, analysis)):
                yield FrequencyBuffer(name, Location(method, call))
        for part in parts(method, analysis) if depth else ():
            if part is not made:
                yield from frequency_buffers(part, analysis, depth - 1)


def parts(constructor: Function, analysis: Analysis) -> set[Class]:
    """The classes of modules whose objects a constructor makes."""
    frame = analysis.evaluator.root_frame(constructor)
    return {
        value.made
        for call in constructor.calls
        if last_name(call.func)[:1].isupper()
        for value in analysis.evaluator.values(call.func, frame)
        if isinstance(value, ClassValue)
        and any(base.startswith("torch.nn.") for base in analysis.evaluator.outside_bases(value.made))
    }


def _of_frequencies(call: ast.Call, constructor: Function, methods: list[Function], analysis: Analysis) -> str:
    """The name of a buffer that holds frequencies; empty for others, and for one that is worked out anew."""
    match call.args:
        case [ast.Constant(value=str(name)), given, *_]:
            pass
        case _:
            return ""
    if not are_frequencies(given, constructor):
        return ""
    others = [method for method in methods if method.name != "__init__"]
    uses = [node for method in others for node in method.of_kind(ast.Attribute) if _is_own(node, name)]
    if any(isinstance(node.ctx, ast.Store) for node in uses):
        return ""
    later = [method for method in others if not _is_for_a_longer_table(method, methods, analysis)]
    return name if any(_multiplies(method, name) for method in later) else ""


def are_frequencies(expr: ast.expr, function: Function) -> bool:
    """Whether an expression is worked out from `arange` by powers or quotients, as far back as the function shows."""
    nodes = list(with_definitions(expr, function))
    called = {last_name(node.func) for node in nodes if isinstance(node, ast.Call)}
    powers = any(isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) for node in nodes)
    return "arange" in called and not called & _BOUNDED and (powers or bool(called & _POWERS))


def registered_frequencies(made: Class, analysis: Analysis) -> set[str]:
    """The names of the buffers that a class registers with frequencies."""
    return {
        str(call.args[0].value)
        for each in analysis.evaluator.linearised(made)
        if (constructor := each.methods.get("__init__")) is not None
        for call in constructor.calls
        if last_name(call.func) == "register_buffer" and len(call.args) > 1 and isinstance(call.args[0], ast.Constant)
        if are_frequencies(call.args[1], constructor)
    }


def _is_for_a_longer_table(method: Function, methods: list[Function], analysis: Analysis) -> bool:
    """Whether a constructor runs a method, before any cast, and all others run it under a condition only.

    What it works out is kept; it runs again where a longer table is needed than the constructor made.
    """
    calls = [
        (each, call)
        for each in methods
        for call in each.calls
        if isinstance(call.func, ast.Attribute) and _is_own(call.func, method.name)
    ]
    again = [(each, call) for each, call in calls if each.name != "__init__"]
    return len(again) < len(calls) and all(analysis.enclosing.conditions(call, each) for each, call in again)


def _is_own(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == name and ast.unparse(node.value) == "self"


def _multiplies(method: Function, name: str) -> bool:
    """Whether a method multiplies an attribute with something."""
    for node in method.own_nodes:
        operands: list[ast.AST] = []
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.MatMult):
            operands = [node.left, node.right]
        elif isinstance(node, ast.Call) and last_name(node.func) in _PRODUCTS:
            operands = list(node.args)
        if any(_is_own(each, name) for operand in operands for each in walk(operand)):
            return True
    return False


def with_definitions(expr: ast.expr, function: Function) -> Iterator[ast.AST]:
    """The nodes of an expression and of what its names are bound to, however far back in the function."""
    queue, seen = [expr], set[str]()
    while queue:
        for node in walk(queue.pop()):
            yield node
            if isinstance(node, ast.Name) and node.id not in seen:
                seen.add(node.id)
                queue += [each.expr for each in function.scope.names.get(node.id, ()) if each.expr is not None]
