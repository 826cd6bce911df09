"""Which results of a function that takes a training step are its loss, handed out with the graph behind it."""

from __future__ import annotations

import ast

from verifygate.base.records import record
from verifygate.static.facts.hot_loops import HotLoops
from verifygate.static.symbols.program import Function
from verifygate.static.symbols.reaching_definitions import reaching
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk

_ENDS = frozenset({"detach", "detach_", "item", "tolist", "numpy", "float", "int"})
_SAME_GRAPH = frozenset({"mean", "sum", "clone", "cpu", "to", "float", "cuda", "squeeze"})
_DEPTH = 3


@record
class Returned:
    """A result of a call: whether it is a loss with its graph, or a dict of which these keys are."""

    graph: bool = False
    keys: frozenset[str] = frozenset()

    @property
    def holds_graph(self) -> bool:
        return self.graph or bool(self.keys)


NOTHING = Returned()


def returned(callees: list[Function], position: int | None, hot: HotLoops, depth: int = _DEPTH) -> Returned:
    """What a call hands out, or one part of a tuple that it does, where each function it may run does so."""
    found = [_of(function, position, hot, depth) for function in callees]
    if not found or not all(each.holds_graph for each in found):
        return NOTHING
    return Returned(all(each.graph for each in found), frozenset.intersection(*(each.keys for each in found)))


def _of(function: Function, position: int | None, hot: HotLoops, depth: int) -> Returned:
    results = [each for each in function.returns if not (isinstance(each, ast.Constant) and each.value is None)]
    if not results or function.is_generator:
        return NOTHING
    found = [_result(each, position, function, hot, depth) for each in results]
    if not all(each.holds_graph for each in found):
        return NOTHING
    return Returned(all(each.graph for each in found), frozenset.intersection(*(each.keys for each in found)))


def _result(expr: ast.expr, position: int | None, function: Function, hot: HotLoops, depth: int) -> Returned:
    if position is not None and isinstance(expr, ast.Tuple):
        if position >= len(expr.elts) or any(isinstance(each, ast.Starred) for each in expr.elts):
            return NOTHING
        return _result(expr.elts[position], None, function, hot, depth)
    if isinstance(expr, ast.Call) and not _same_graph(expr):
        return _of_call(expr, position, function, hot, depth)
    if position is not None:
        return NOTHING
    match expr:
        case ast.Dict(keys=keys, values=values):
            return Returned(
                keys=frozenset(
                    key.value
                    for key, value in zip(keys, values, strict=True)
                    if isinstance(key, ast.Constant)
                    and isinstance(key.value, str)
                    and _result(value, None, function, hot, depth).graph
                )
            )
        case ast.Name() if bindings := reaching(expr.id, expr, function):
            made = [each.expr for each in bindings]
            if expr.id in _differentiated(function):
                return Returned(graph=all(each is None or not _ends(each) for each in made))
            if len(made) == 1 and made[0] is not None and bindings[0].kind == "value":
                return _result(made[0], None, function, hot, depth)
        case ast.BinOp(left=left, right=right):
            sides = [_result(each, None, function, hot, depth) for each in (left, right)]
            return Returned(graph=any(each.graph for each in sides))
        case ast.Call(func=ast.Attribute(value=inner)):
            return Returned(graph=_result(inner, None, function, hot, depth).graph)
    return NOTHING


def _of_call(call: ast.Call, position: int | None, function: Function, hot: HotLoops, depth: int) -> Returned:
    if depth == 0:
        return NOTHING
    frame = hot.evaluator.root_frame(function)
    callees = [each.function for each in hot.evaluator.callees(call, frame)]
    return returned([each for each in callees if each is not function], position, hot, depth - 1)


def _same_graph(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in _SAME_GRAPH


def _ends(expr: ast.expr) -> bool:
    return isinstance(expr, ast.Call) and last_name(expr.func) in _ENDS and not _same_graph(expr)


def _differentiated(function: Function) -> frozenset[str]:
    """The variables that a backward of the function differentiates, without what they are divided by."""
    found: set[str] = set()
    for call in function.calls:
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "backward":
            continue
        operands = [call.func.value, *call.args[:1]]
        while operands:
            match operands.pop():
                case ast.Name(id=name):
                    found.add(name)
                case ast.Call(func=ast.Attribute(attr="scale"), args=[inner]):
                    operands.append(inner)
                case ast.BinOp(left=left, op=ast.Div()):
                    operands.append(left)
                case ast.BinOp(left=left, op=ast.Add(), right=right):
                    operands += [left, right]
                case ast.BinOp(left=left, op=ast.Mult(), right=right):
                    operands += [each for each in (left, right) if isinstance(each, ast.Name)][:1]
    for each in list(found):  # `scaled = scaler.scale(loss)`, and `loss = first + second`
        for binding in function.scope.names.get(each, ()):
            match binding.expr:
                case ast.Call(func=ast.Attribute(attr="scale"), args=[inner]):
                    found |= {node.id for node in walk(inner) if isinstance(node, ast.Name)}
                case ast.BinOp(op=ast.Add(), left=ast.Name() as first, right=ast.Name() as second):
                    found |= {first.id, second.id}
    return frozenset(found)
