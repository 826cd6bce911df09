"""Step-tensor propagation: names in a hot loop that hold tensors on the device, with the loss's graph behind them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from verifygate.base.fixpoint import fixpoint
from verifygate.naming import names_a_loss, names_a_loss_or_criterion, speaks_of_a_scaler
from verifygate.static.facts.hot_loops import HotLoop, HotLoops
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import children, walk

_ON_DEVICE = frozenset({"detach", "detach_", "isnan", "isfinite", "isinf", "argmax", "eq"})
_LEAVING = frozenset({"item", "tolist", "numpy", "size", "dim", "numel", "get_scale"})
_BUILTINS = frozenset({"float", "int", "bool", "str", "len", "print", "range", "format", "round"})
_DETACHING = _ON_DEVICE | _LEAVING
"""Methods and functions whose result holds no graph; some leave it on the device."""
_HOST_FIELDS = frozenset({"shape", "device", "dtype", "data", "ndim"})


class StepTensors:
    """The names of one hot loop's own function."""

    def __init__(self, hot: HotLoops, loop: HotLoop) -> None:
        self.hot = hot
        self.loop = loop
        self.spots = hot.spots(loop.function)

    @cached_property
    def assigned(self) -> dict[str, list[ast.expr]]:
        """Name -> what the loop assigns to it; each part of an unpacked value gets the whole of it."""
        found: dict[str, list[ast.expr]] = {}
        for spot in self.spots:
            if self.loop.node not in spot.loops or not isinstance(spot.node, ast.Assign):
                continue
            for target in spot.node.targets:
                for part in target.elts if isinstance(target, ast.Tuple | ast.List) else (target,):
                    if isinstance(part, ast.Name | ast.Attribute):
                        found.setdefault(ast.unparse(part), []).append(spot.node.value)
        return found

    @cached_property
    def parts(self) -> frozenset[str]:
        """Names that get one part of an unpacked value: `loss, images = outputs`."""
        return frozenset(
            ast.unparse(part)
            for spot in self.spots
            if isinstance(spot.node, ast.Assign)
            for target in spot.node.targets
            for part in (target.elts if isinstance(target, ast.Tuple | ast.List) else ())
        )

    @cached_property
    def roots(self) -> frozenset[str]:
        """Names that a backward is called on, or that a callable wrapper of it is given as the loss."""
        found: set[str] = set()
        for spot in self.spots:
            call = spot.node
            if not (isinstance(call, ast.Call) and self.loop.node in spot.loops):
                continue
            if isinstance(call.func, ast.Attribute) and call.func.attr == "backward":
                found.update(*map(self._differentiated, (call.func.value, *call.args[:1])))
            elif any(names_a_loss(last_name(argument)) for argument in call.args) and any(
                self.hot.takes_one_step(callee) for callee in self.hot.callees(spot)
            ):
                found.update(name for argument in call.args for name in names_in(argument) if names_a_loss(name))
        return frozenset(found & {*self.assigned, *found})

    def _differentiated(self, expr: ast.expr, *, beside: bool = False) -> Iterator[str]:
        """The names of tensors in what a backward is called on: a divisor, a weight or a count is none.

        `beside` other operands, a name is one of a tensor where the iteration works it out.
        """
        match expr:
            case ast.Call(func=ast.Attribute(attr="scale"), args=[scaled, *_]):
                yield from self._differentiated(scaled)
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
                yield from self._differentiated(left, beside=True)
                yield from self._differentiated(right, beside=True)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                sides = [set(self._differentiated(side, beside=True)) for side in (left, right)]
                both = sides[0] | sides[1]
                yield from {each for each in both if self._is_result(each)} or (both if not all(sides) else ())
            case ast.BinOp(left=left):
                yield from self._differentiated(left, beside=True)
            case ast.Name() | ast.Attribute() if beside:
                yield from (name for name in names_in(expr) if self._is_made_here(name))
            case _:
                yield from names_in(expr)

    def _is_result(self, name: str) -> bool:
        """Whether a name surely is of a tensor of the step: called a loss, or what a model or a loss function gives."""
        return names_a_loss(name) or any(self._is_output(value) for value in self.assigned.get(name, ()))

    def _is_made_here(self, name: str) -> bool:
        return names_a_loss(name) or any(not _is_number(value) for value in self.assigned.get(name, ()))

    @cached_property
    def _graphless(self) -> frozenset[str]:
        """Names that the loop binds with autograd off only: what they hold has no graph, wherever it is used."""
        made: dict[str, bool] = {}
        for spot in self.spots:
            if self.loop.node not in spot.loops or not isinstance(spot.node, ast.Assign):
                continue
            for target in spot.node.targets:
                for part in target.elts if isinstance(target, ast.Tuple | ast.List) else (target,):
                    name = ast.unparse(part)
                    made[name] = made.get(name, True) and spot.without_gradients
        return frozenset(name for name, off in made.items() if off)

    @cached_property
    def behind_backward(self) -> frozenset[str]:
        """Every name that what is differentiated was worked out from."""
        every: dict[str, list[ast.expr]] = {}
        for spot in self.spots:
            match spot.node:
                case ast.Assign(targets=targets, value=value):
                    for target in targets:
                        every.setdefault(ast.unparse(target), []).append(value)
                case ast.AugAssign(target=target, value=value):
                    every.setdefault(ast.unparse(target), []).append(value)
        found = {
            name
            for spot in self.spots
            if isinstance(spot.node, ast.Call) and last_name(spot.node.func) in ("backward", "scale")
            for part in (spot.node.func, *spot.node.args)
            for name in names_in(part)
        } | set(self.roots)
        return frozenset(
            fixpoint(found, lambda name: (part for value in every.get(name, ()) for part in names_in(value)))
        )

    @cached_property
    def losses(self) -> frozenset[str]:
        """Names with the graph of a loss behind them, and never bound to anything without one."""
        found = (set(self.roots) if self.loop.trains else set(self._evaluated_losses())) - self._graphless
        grown = True
        while grown:
            before = len(found)
            for name, values in self.assigned.items():
                is_loss = names_a_loss(name) or name not in self.parts  # of what is unpacked, not every part is one
                if is_loss and any(_sums(value) & found for value in values):
                    found.add(name)
                if name in found and self.loop.trains:
                    found.update(part for value in values for part in _sums(value) if names_a_loss(part))
            grown = len(found) > before
        return frozenset(name for name in found - self._graphless if not self._on_host(name))

    @cached_property
    def on_device(self) -> frozenset[str]:
        """Names that surely hold results of the step."""
        found = set(self.roots) | {
            name for name, values in self.assigned.items() if any(self._is_output(value) for value in values)
        }
        grown = True
        while grown:
            before = len(found)
            for name, values in self.assigned.items():
                if any(set(names_in(value, leaving_device=True)) & found for value in values):
                    found.add(name)
            grown = len(found) > before
        return frozenset(name for name in found if not self._on_host(name))

    def _on_host(self, name: str) -> bool:
        return any(isinstance(value, ast.Call) and _ends(value, _LEAVING) for value in self.assigned.get(name, ()))

    def _is_output(self, value: ast.expr) -> bool:
        return isinstance(value, ast.Call) and (
            self.hot.is_model(value.func, self.loop.function) or is_loss_call(value)
        )

    def carries(self, value: ast.expr) -> bool:
        """Whether storing a value keeps the graph of a loss: of a named one, or in evaluation of one worked out there.

        In training a loss without a name is a second one, which may be meant for a later backward.
        """
        if carries(value, self.losses):
            return True
        calls = () if self.loop.trains else _terms(value)
        return any(self._is_evaluated_loss(call) for call in calls)

    def _is_evaluated_loss(self, call: ast.Call) -> bool:
        return is_loss_call(call) and self._from_model(call, self._outputs) and not self._gives_a_number(call)

    def _gives_a_number(self, call: ast.Call) -> bool:
        """Whether a function of the project hands out its loss without the graph."""
        callees = self.hot.evaluator.callees(call, self.hot.evaluator.root_frame(self.loop.function))
        returns = (each for callee in callees for each in callee.function.returns)
        return any(isinstance(each, ast.Call) and _ends(each, _DETACHING) for each in returns)

    @cached_property
    def _outputs(self) -> set[str]:
        """Names that hold what a model gave."""
        return {
            name
            for name, values in self.assigned.items()
            if any(self.hot.is_model(value.func, self.loop.function) for value in values if isinstance(value, ast.Call))
        } - self._graphless

    def _evaluated_losses(self) -> Iterator[str]:
        """In evaluation: what a loss function gives for what a model gave, and losses that a model gives."""
        for name, values in self.assigned.items():
            for value in values:
                if not isinstance(value, ast.Call):
                    continue
                if self.hot.is_model(value.func, self.loop.function):
                    if names_a_loss(name) and all(self._is_output(each) for each in values):
                        yield name
                elif self._is_evaluated_loss(value):
                    yield name

    def _from_model(self, call: ast.Call, outputs: set[str]) -> bool:
        return any(
            set(names_in(argument)) & outputs
            or any(
                isinstance(node, ast.Call) and self.hot.is_model(node.func, self.loop.function)
                for node in walk(argument)
            )
            for argument in call.args
        )


def differentiated(function: Function) -> frozenset[str]:
    """The names that a backward, or a scaler on the way to one, takes in a function."""
    found: set[str] = set()
    for call in function.calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr == "backward":
            found.update(names_in(call.func.value))
        elif last_name(call.func) == "scale":
            found.update(name for argument in call.args for name in names_in(argument))
    return frozenset(found)


def is_loss_call(call: ast.Call) -> bool:
    """Whether a call works out a loss, going by the name of the function."""
    name = last_name(call.func)
    return names_a_loss_or_criterion(name) and not speaks_of_a_scaler(name)


def names_in(expr: ast.AST, *, leaving_device: bool = False) -> Iterator[str]:
    """Dotted names whose tensors the value of an expression is made of, not through calls that end their graph.

    With `leaving_device`, calls that only end the graph are looked through: their result is on the device still.
    """
    match expr:
        case ast.Call():
            if _ends(expr, _LEAVING if leaving_device else _DETACHING):
                return
            if isinstance(expr.func, ast.Attribute):
                yield from names_in(expr.func.value, leaving_device=leaving_device)
            for argument in (*expr.args, *(word.value for word in expr.keywords)):
                yield from names_in(argument, leaving_device=leaving_device)
        case ast.Attribute() if expr.attr in _HOST_FIELDS and not (leaving_device and expr.attr == "data"):
            return
        case ast.Name():
            yield expr.id
        case ast.Attribute():
            yield ast.unparse(expr)
            yield from names_in(expr.value, leaving_device=leaving_device)
        case ast.Compare() | ast.Lambda():
            return
        case ast.ListComp(elt=each, generators=loops) | ast.GeneratorExp(elt=each, generators=loops):
            # `[part.item() for part in losses]` is made of numbers: what it goes over counts where an element is of it
            made_of = set(names_in(each, leaving_device=leaving_device))
            yield from made_of
            for loop in reversed(loops):
                if not made_of.isdisjoint(names_in(loop.target)):
                    over = set(names_in(loop.iter, leaving_device=leaving_device))
                    made_of |= over
                    yield from over
        case ast.Subscript():
            yield ast.unparse(expr)
            yield from names_in(expr.value, leaving_device=leaving_device)
        case _:
            for child in children(expr):
                yield from names_in(child, leaving_device=leaving_device)


def _ends(call: ast.Call, methods: frozenset[str]) -> bool:
    """Whether the result of a call is a plain number or a tensor without its past; `.float()` is neither."""
    return last_name(call.func) in methods or (isinstance(call.func, ast.Name) and call.func.id in _BUILTINS)


def _is_number(value: ast.expr) -> bool:
    """Whether a value is a plain number whatever else holds: written out, counted, or read from a tensor."""
    match value:
        case ast.Constant() | ast.Compare():
            return True
        case ast.UnaryOp(operand=operand):
            return _is_number(operand)
        case ast.BinOp(left=left, right=right):
            return _is_number(left) and _is_number(right)
        case ast.IfExp(body=body, orelse=orelse):
            return _is_number(body) and _is_number(orelse)
        case ast.Call():
            return _ends(value, _LEAVING | {"len", "float", "int", "round"})
    return False


def _terms(value: ast.expr) -> Iterator[ast.Call]:
    """The calls that a value is a sum or a multiple of."""
    match value:
        case ast.BinOp():
            yield from _terms(value.left)
            yield from _terms(value.right)
        case ast.Call():
            yield value


def _sums(value: ast.expr) -> set[str]:
    """The names that a value is a sum, a multiple or a copy of: their graphs are part of its own."""
    match value:
        case ast.Name() | ast.Attribute():
            return {ast.unparse(value)}
        case ast.BinOp():
            return _sums(value.left) | _sums(value.right)
        case ast.Call(func=ast.Attribute(value=inner, attr="mean" | "sum" | "clone" | "cpu" | "to" | "float")):
            return _sums(inner)
    return set()


def carries(value: ast.expr, losses: frozenset[str]) -> bool:
    """Whether storing a value keeps the graph of one of the losses."""
    return bool(_sums(value) & losses)
