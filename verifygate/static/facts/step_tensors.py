"""Step-tensor propagation: names in a hot loop that hold tensors on the device, with the loss's graph behind them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from verifygate.base.fixpoint import fixpoint
from verifygate.naming import names_a_loss, names_a_loss_or_criterion, speaks_of_a_scaler
from verifygate.static.facts.assigned_parts import assigned_parts, base_name, is_empty, of_key, target_names
from verifygate.static.facts.autograd_mode import is_off
from verifygate.static.facts.hot_loops import HotLoop, HotLoops
from verifygate.static.facts.returned_graphs import NOTHING, Returned, returned
from verifygate.static.symbols.program import Function
from verifygate.static.symbols.reaching_definitions import reaching
from verifygate.static.symbols.sites import ProgramPoint
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
                found.update(names_in(call.func.value), *(names_in(argument) for argument in call.args[:1]))
            elif any(names_a_loss(last_name(argument)) for argument in call.args) and any(
                self.hot.takes_one_step(callee) for callee in self.hot.callees(spot)
            ):
                found.update(name for argument in call.args for name in names_in(argument) if names_a_loss(name))
        return frozenset(self._differentiated_tensors(found))

    def _differentiated_tensors(self, names: set[str]) -> set[str]:
        """Of the names that stand in what is differentiated, those of tensors: `loss` of `loss * weight / length`.

        Of several, what a model or a loss function of this loop made; else what this loop assigns, or is called a loss.
        """
        names = {name for name in names if not speaks_of_a_scaler(name) and not self._is_number(name)}
        for chosen in (
            {name for name in names if self.is_worked_out(name)},
            {name for name in names if base_name(name) in self._bases},
        ):
            if len(chosen) == 1 or any(map(self.is_worked_out, chosen)):
                return chosen
        return names if len(names) == 1 else {name for name in names if names_a_loss(name)}

    @cached_property
    def _bases(self) -> dict[str, list[ast.expr]]:
        """The same as `assigned`, by the variable at the start of each name: `losses` for `losses["total"]`."""
        found: dict[str, list[ast.expr]] = {}
        for name, values in self.assigned.items():
            found.setdefault(base_name(name), []).extend(values)
        return found

    def is_worked_out(self, name: str) -> bool:
        """Whether a name holds what a model or a loss function gave in this loop, or what was made of that."""
        return name in self._worked_out or base_name(name) in self._worked_out

    @cached_property
    def _worked_out(self) -> frozenset[str]:
        found: set[str] = set()
        grown = True
        while grown:
            before = len(found)
            for name, values in (*self.assigned.items(), *self._bases.items()):
                if name not in found and any(self._is_made_of(value, found) for value in values):
                    found.add(name)
            grown = len(found) > before
        return frozenset(found)

    def _is_made_of(self, value: ast.expr, found: set[str]) -> bool:
        return not found.isdisjoint(names_in(value)) or any(self._is_output(each) for each in _calls_with_graph(value))

    def _is_number(self, name: str) -> bool:
        """Whether all that the loop assigns to a name is a number of Python's."""
        values = self.assigned.get(name, ())
        return bool(values) and all(
            isinstance(value, ast.Constant) or (isinstance(value, ast.Call) and _ends(value, _LEAVING))
            for value in values
        )

    @cached_property
    def without_graph(self) -> frozenset[str]:
        """Names that the loop assigns only with autograd off."""
        on, off = set[str](), set[str]()
        for spot in self.spots:
            if self.loop.node in spot.loops and isinstance(spot.node, ast.Assign):
                names = {name for target in spot.node.targets for name in target_names(target)}
                (off if is_off(spot, self.hot.evaluator) else on).update(names)
        return frozenset(off - on)

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
        found = {*self.roots, *self._handed_out} if self.loop.trains else set(self._evaluated_losses())
        grown = True
        while grown:
            before = len(found)
            for name, values in self.assigned.items():
                is_loss = names_a_loss(name) or name not in self.parts  # of what is unpacked, not every part is one
                if is_loss and any(_sums(value) & found for value in values):
                    found.add(name)
                if name in found and self.loop.trains:
                    parts = {part for value in values for part in _sums(value) if names_a_loss(part)}
                    found.update(part for part in parts if self.is_worked_out(part))
            grown = len(found) > before
        return frozenset(name for name in found - self.without_graph if not self._on_host(name))

    @cached_property
    def _handed_out(self) -> frozenset[str]:
        """Names that get the loss of a function which takes the step, with the graph behind it."""
        found = set()
        for spot in self._assignments:
            for target, value, position in assigned_parts(spot.node):
                result = self._result(value, position, spot)
                found |= {target} if result.graph else {f"{target}[{key!r}]" for key in result.keys}
        return frozenset(found)

    def _result(self, value: ast.expr, position: int | None, spot: ProgramPoint) -> Returned:
        if not isinstance(value, ast.Call) or not self._calls_a_step(value, spot):
            return NOTHING
        return returned(self.hot.callees(spot.at(value)), position, self.hot)

    def _calls_a_step(self, call: ast.Call, spot: ProgramPoint) -> bool:
        return any(self.hot.takes_one_step(callee) for callee in self.hot.callees(spot.at(call)))

    @cached_property
    def _assignments(self) -> list[ProgramPoint]:
        return [spot for spot in self.spots if self.loop.node in spot.loops and isinstance(spot.node, ast.Assign)]

    @cached_property
    def holders(self) -> frozenset[str]:
        """Names of dicts and lists, each made anew in an iteration, that hold a loss with its graph."""
        found = {
            target
            for spot in self._assignments
            for target, value, position in assigned_parts(spot.node)
            if self._result(value, position, spot).keys
        }
        grown = True
        while grown:
            before = len(found)
            for name, values in self.assigned.items():
                made = [value for value in values if not is_empty(value)]
                if made and name not in self.parts and all(self._holds(value, found) for value in made):
                    found.add(name)
            for spot in self.spots:
                if self.loop.node in spot.loops and (name := self._filled(spot.node, found)) in self.assigned:
                    found.add(name)
            grown = len(found) > before
        return frozenset(found - self.without_graph)

    def _filled(self, node: ast.AST, holders: set[str]) -> str:
        """The dict or list into which a statement puts a loss: `step["out"] = loss`, `step.update(losses)`."""
        match node:
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name))], value=value):
                given = [value]
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="update" | "append"), args=given):
                given = [*given, *(word.value for word in node.keywords)]
            case _:
                return ""
        return name if any(carries(each, self.losses) or self._holds(each, holders) for each in given) else ""

    def _holds(self, value: ast.expr, holders: set[str] | frozenset[str]) -> bool:
        """Whether a value is a dict or a list that holds a loss with its graph, or is what such a one holds."""
        match value:
            case ast.Name(id=name):
                return name in holders
            case ast.Dict(values=given) | ast.List(elts=given) | ast.Tuple(elts=given) | ast.Set(elts=given):
                pass
            case ast.Call(func=ast.Name(id="dict" | "list" | "tuple")):
                given = [*value.args, *(word.value for word in value.keywords)]
            case ast.Call(func=ast.Attribute(value=inner, attr="copy"), args=[]):
                given = [inner]
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key))):
                given = [made for each in self.assigned.get(name, ()) for made in of_key(each, key)]
            case ast.Starred(value=inner):
                given = [inner]
            case _:
                return False
        return any(self._is_loss(each) or self._holds(each, holders) for each in given)

    def _is_loss(self, value: ast.expr) -> bool:
        if carries(value, self.losses):
            return True
        calls = () if self.loop.trains else _terms(value)
        return any(self._is_evaluated_loss(call) for call in calls)

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
        return self._is_loss(value) or self._holds(value, self.holders) or self._is_handed_out(value)

    def _is_handed_out(self, value: ast.expr) -> bool:
        """Whether a value is what a function that takes the step hands out with its graph: `kept.append(step(x))`."""
        points = (spot for spot in self.spots if spot.node is value) if isinstance(value, ast.Call) else ()
        return any(self._result(value, None, spot).holds_graph for spot in points)

    def _is_evaluated_loss(self, call: ast.Call) -> bool:
        return is_loss_call(call) and self._from_model(call) and not self._gives_a_number(call)

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
            if name not in self.without_graph
            and any(
                self.hot.is_model(value.func, self.loop.function) for value in values if isinstance(value, ast.Call)
            )
        }

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

    def _from_model(self, call: ast.Call) -> bool:
        return any(
            any(self._may_have_graph(name, call) for name in self._outputs.intersection(names_in(argument)))
            or any(
                isinstance(node, ast.Call) and self.hot.is_model(node.func, self.loop.function)
                for node in walk(argument)
            )
            for argument in call.args
        )

    def _may_have_graph(self, name: str, at: ast.AST) -> bool:
        """Whether what a name holds at a place may have a graph: of all its bindings, those that reach it count."""
        bindings = reaching(name, at, self.loop.function)
        return not bindings or not all(
            each.node in self._made_off or (isinstance(each.expr, ast.Call) and _ends(each.expr, _DETACHING))
            for each in bindings
        )

    @cached_property
    def _made_off(self) -> frozenset[ast.AST]:
        """The assignments of the function that run with autograd off."""
        return frozenset(
            spot.node for spot in self.spots if isinstance(spot.node, ast.Assign) and is_off(spot, self.hot.evaluator)
        )


def _calls_with_graph(value: ast.expr) -> Iterator[ast.Call]:
    """The calls whose graph a value holds, not through calls that end it."""
    stack: list[ast.AST] = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Call):
            if _ends(node, _DETACHING):
                continue
            yield node
        if not isinstance(node, ast.Compare | ast.Lambda):
            stack += children(node)


def differentiated(function: Function) -> frozenset[str]:
    """The names that a backward, or a scaler on the way to one, takes in a function."""
    found: set[str] = set()
    for call in function.calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr == "backward":
            found.update(names_in(call.func.value))
        elif last_name(call.func) == "scale":
            found.update(name for argument in call.args for name in names_in(argument))
    if function.owner is not None:
        found -= {each.arg for each in function.node.args.args[:1]}  # type: ignore[union-attr]  # `self` is no tensor
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
        case ast.Name() | ast.Attribute() | ast.Subscript():
            return {ast.unparse(value)}
        case ast.BinOp():
            return _sums(value.left) | _sums(value.right)
        case ast.Call(func=ast.Attribute(value=inner, attr="mean" | "sum" | "clone" | "cpu" | "to" | "float")):
            return _sums(inner)
    return set()


def carries(value: ast.expr, losses: frozenset[str]) -> bool:
    """Whether storing a value keeps the graph of one of the losses."""
    return bool(_sums(value) & losses)
