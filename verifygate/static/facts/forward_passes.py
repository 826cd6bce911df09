"""What runs in every forward of a model: its `forward`, the layers that it calls, and the functions that those call."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.static.facts.autograd_mode import is_off
from verifygate.static.facts.hot_loops import HotLoop, HotLoops
from verifygate.static.symbols.program import Function
from verifygate.static.symbols.sites import ProgramPoint, Test
from verifygate.static.values.domain import Bound, ExternalResult, Frame, Object
from verifygate.static.values.evaluator import Evaluator

_CONTAINERS = frozenset({"torch.nn.ModuleList", "torch.nn.Sequential", "torch.nn.ModuleDict"})
_DEPTH = 6


class ForwardPasses:
    """Follows the calls of models in the loops that train, down to the layers."""

    def __init__(self, hot: HotLoops) -> None:
        self._hot = hot
        self._evaluator: Evaluator = hot.evaluator

    def points(self, loop: HotLoop) -> Iterator[ProgramPoint]:
        """What each forward in an iteration of a loop runs in training, below the call of the model."""
        seen: set[Function] = {loop.function}
        for point in loop.iteration_points:
            if isinstance(point.node, ast.Call) and not is_off(point, self._evaluator):
                for forward in self._forwards(point.node, point.function):
                    yield from self._below(forward, seen, _DEPTH)

    def _below(self, function: Function, seen: set[Function], depth: int) -> Iterator[ProgramPoint]:
        if function in seen or depth == 0:
            return
        seen.add(function)
        for point in self._hot.each_time(function):
            if any(_asks_for_evaluation(test) for test in point.tests):
                continue
            yield point
            if isinstance(point.node, ast.Call):
                for callee in (*self._forwards(point.node, function), *self._hot.callees(point)):
                    yield from self._below(callee, seen, depth - 1)

    def _forwards(self, call: ast.Call, function: Function) -> list[Function]:
        """The `forward` methods of the project's modules that a call runs, of those in a container, too."""
        frame = self._evaluator.root_frame(function)
        found = [callee.function for callee in self._evaluator.callees(call, frame)]
        found = [each for each in found if each.name == "forward"]
        if not found:
            found = [method for made in self._contained(call.func, frame) for method in self._forward_of(made)]
        return list(dict.fromkeys(found))

    def _forward_of(self, made: Object) -> list[Function]:
        methods = (base.methods.get("forward") for base in self._evaluator.linearised(made.made))
        return [method for method in [next(filter(None, methods), None)] if method is not None]

    def _contained(self, called: ast.expr, frame: Frame) -> Iterator[Object]:
        """The modules that a call may run as elements of a container: `for layer in self.layers`, `self.layers[0]`."""
        holder: ast.expr = called
        match called:
            case ast.Name(id=name):
                bindings = frame.function.scope.names.get(name, [])
                over = [each.expr for each in bindings if each.kind in ("iteration", "entry") and each.expr is not None]
                over += [_iterated(each.expr) for each in bindings if each.kind == "item" and each.expr is not None]
            case ast.Subscript(value=holder):
                over = [holder]
            case _:
                over = [called]
        for each in over:
            for value in self._evaluator.values(_iterated(each), frame):
                if isinstance(value, ExternalResult) and value.name in _CONTAINERS:
                    yield from self._elements(value, set())

    def _elements(self, container: ExternalResult, met: set[ExternalResult]) -> Iterator[Object]:
        """The modules in a container, and in those that it holds, each of which is looked into once."""
        if container in met:
            return
        met.add(container)
        for call, frame in container.calls:
            for given in call.args:
                for element in _written(given):
                    for value in self._evaluator.values(element, frame):
                        if isinstance(value, Object):
                            yield Object(value.made, value.call or Bound(element, frame))
                        elif isinstance(value, ExternalResult) and value.name in _CONTAINERS:
                            yield from self._elements(value, met)


def _iterated(expr: ast.expr) -> ast.expr:
    """`self.layers` of `enumerate(self.layers)`, `zip(self.layers, rates)` and `self.layers.values()`."""
    match expr:
        case ast.Call(func=ast.Name(id="enumerate" | "zip" | "reversed" | "list"), args=[first, *_]):
            return _iterated(first)
        case ast.Call(func=ast.Attribute(value=inner, attr="values" | "items" | "children"), args=[]):
            return inner
    return expr


def _written(expr: ast.expr) -> list[ast.expr]:
    """The elements of a list or a dict that is written out, or the one expression of a comprehension."""
    match expr:
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return [inner for each in elements for inner in _written(each)]
        case ast.Starred(value=inner):
            return _written(inner)
        case ast.ListComp(elt=element) | ast.GeneratorExp(elt=element):
            return [element]
        case ast.Dict(values=values):
            return values
    return [expr]


def _asks_for_evaluation(test: Test) -> bool:
    """Whether what stands there runs in evaluation alone: `if not self.training`."""
    expr, holds = test.expr, test.holds
    while isinstance(expr, ast.UnaryOp) and isinstance(expr.op, ast.Not):
        expr, holds = expr.operand, not holds
    return isinstance(expr, ast.Attribute) and expr.attr == "training" and not holds
