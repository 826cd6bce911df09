"""What else may scale a loss whose plain backward a function runs, by the objects of that backward and of its step.

    self.stepper(loss, optimizer)                        # instead of the backward: a function, perhaps in another file
    model, optimizer = accelerator.prepare(model, optimizer)       # a framework holds the step
    class Task(LightningModule): ...                     # so it does of every method of such a class

A scaler that none of these leads to scales another loss.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator
from functools import cached_property, partial

from verifygate.base.records import record
from verifygate.naming import speaks_of_a_scale
from verifygate.static.analysis import Analysis
from verifygate.static.facts.step_tensors import is_loss_call, names_in
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.symbols.reaching_definitions import reaching
from verifygate.static.symbols.scopes import Binding
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import ExternalName, ExternalResult, Object, Unknown

_OBJECTS = frozenset({"Accelerator", "Fabric", "Booster"})
"""Classes of frameworks whose objects are given models and optimizers, and scale by themselves."""
_PACKAGES = (
    "accelerate.",
    "apex.amp",
    "apex.fp16_utils",
    "colossalai.",
    "deepspeed.",
    "lightning",
    "pytorch_lightning.",
)
_MODULES = ("LightningModule", "transformers.Trainer", "transformers.Seq2SeqTrainer")
"""Base classes whose methods a framework runs, which holds the step."""
_SCALING = frozenset({"scale", "scale_loss", "backward", "manual_backward"})
"""Methods that are given a loss and scale it, whatever object has them: tensors' own `backward` is given none."""
_LOOK = frozenset({"print", "float", "isnan", "isfinite", "isinf", "append", "len", "item"})
_OF_TENSORS = frozenset(
    """abs add backward clone contiguous cpu cuda div double float max mean min mul neg pow reshape squeeze sub sum to
    type view""".split()  # noqa: SIM905
)
_CALLERS = 2
_LEAST_SCALE = 64
"""A constant factor below it is a weight."""


@record
class Scaling:
    """Something that scales, or may."""

    place: Location
    unknown: str = ""
    """Why it cannot be told whether it does; empty where it does."""


class ScaledElsewhere:
    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._found: dict[tuple[Function, ast.Call | None], Scaling | None] = {}

    def of(self, function: Function, backward: ast.Call | None) -> Scaling | None:
        """What may scale the loss of a backward in a function, or of what passes through it; None for nothing."""
        key = (function, backward)
        if key not in self._found:
            self._found[key] = next(self._scalings(function, backward), None)
        return self._found[key]

    def has_rivals(self, function: Function) -> bool:
        """Whether a program that runs the function has a scaler or a framework that scales some loss."""
        files = self._analysis.import_graph.together(function.module.path)
        return any(each.module.path in files for each in self._scaling) or self._framework_beside(function) is not None

    @cached_property
    def _scaling(self) -> frozenset[Function]:
        """The functions that scale a loss or let a scaler step, and what calls them."""
        calls = (call for call in self._analysis.scaler_calls if call.method in ("scale", "step"))
        homes = {call.function for call in calls}
        return frozenset(each for home in homes for each in self._analysis.call_graph.above(home))

    @cached_property
    def _frameworks(self) -> list[Location]:
        """The calls that make a framework's object, or that hand models and optimizers to one."""
        return [
            Location(function, call)
            for call, function in self._analysis.calls
            if function.module.mentions(b"Accelerator(", b"Fabric(", b"Booster(", b"deepspeed", b"apex")
            if last_name(call.func) in _OBJECTS or last_name(call.func) == "initialize"
            if self._is_of_framework(call.func, function)
        ]

    def _framework_beside(self, function: Function) -> Location | None:
        files = self._analysis.import_graph.together(function.module.path)
        return next((place for place in self._frameworks if place.path in files), None)

    def _scalings(self, function: Function, backward: ast.Call | None) -> Iterator[Scaling]:
        """What scales first, then what may."""
        found = [*self._of_class(function), *self._of_steps(function), *self._of_calls(function, backward)]
        yield from (each for each in found if not each.unknown)
        yield from (each for each in found if each.unknown)

    def _of_class(self, function: Function) -> Iterator[Scaling]:
        owner = function.owner
        bases = self._analysis.evaluator.outside_bases(owner) if owner is not None else ()
        if any(base.endswith(_MODULES) for base in bases):
            yield Scaling(Location(function, function.node))

    # -- the optimizer -----------------------------------------------------------------------------------------

    def _of_steps(self, function: Function) -> Iterator[Scaling]:
        for optimizer, home in self._stepped(function):
            if self._analysis.roles.scaler(optimizer, self._analysis.evaluator.root_frame(home)) is not None:
                yield Scaling(Location(home, optimizer))  # one name for both, in turn
            yield from self._of_optimizer(optimizer, home, _CALLERS)

    def _stepped(self, function: Function) -> Iterator[tuple[ast.expr, Function]]:
        """The optimizers that step in a function, or in the one around it."""
        for home in filter(None, (function, function.enclosing)):
            frame = self._analysis.evaluator.root_frame(home)
            for call in home.calls:
                func = call.func
                steps = isinstance(func, ast.Attribute) and func.attr == "step"
                if steps and self._analysis.roles.is_optimizer(func.value, frame):  # type: ignore[attr-defined]
                    yield func.value, home  # type: ignore[attr-defined]

    def _of_optimizer(self, optimizer: ast.expr, function: Function, depth: int) -> Iterator[Scaling]:
        """What holds an optimizer besides the function that steps it: a framework, or a class that has a scaler."""
        evaluator = self._analysis.evaluator
        values = evaluator.values(optimizer, evaluator.root_frame(function))
        for value in values:
            if isinstance(value, Object):
                methods = (each for made in evaluator.linearised(value.made) for each in made.methods.values())
                if any(method in self._scaling for method in methods):
                    yield Scaling(Location(function, optimizer))
        place = Location(function, optimizer)
        bindings = list(self._bindings(optimizer, function))
        for binding, home in bindings:
            if not isinstance(binding.expr, ast.Call) or not self._hands_optimizer(binding.expr, home):
                continue
            if self._is_of_framework(binding.expr.func, home):
                yield Scaling(Location(home, binding.expr))
            elif self._is_unknown(binding.expr.func, home):
                what = ast.unparse(binding.expr.func)
                yield Scaling(place, f"what `{what}` makes of the optimizer, and whether that scales, cannot be told")
        if depth and isinstance(optimizer, ast.Name):
            for site, bound in self._analysis.call_graph.given(optimizer.id, function):
                yield from self._of_optimizer(bound.expr, site.caller, depth - 1)
        is_unknown = any(isinstance(value, Unknown) for value in values) and not any(each.expr for each, _ in bindings)
        if is_unknown and (framework := self._framework_beside(function)) is not None:
            by = f"`{ast.unparse(framework.node.func)}` ({framework.path}:{framework.line})"  # type: ignore[attr-defined]
            what = ast.unparse(optimizer)
            yield Scaling(place, f"whether `{what}` is an optimizer that {by} leads to, and so scaled, cannot be told")

    def _bindings(self, optimizer: ast.expr, function: Function) -> Iterator[tuple[Binding, Function]]:
        """What gives a name, or an attribute of the function's own object, the optimizer that steps."""
        if isinstance(optimizer, ast.Name):
            found = reaching(optimizer.id, optimizer, function) or function.scope.names.get(optimizer.id) or []
            yield from ((each, function) for each in found)
        elif isinstance(optimizer, ast.Attribute) and function.owner is not None:
            for made in self._analysis.evaluator.linearised(function.owner):
                for binding, home in made.attributes.get(optimizer.attr, ()):
                    if home is not None:
                        yield binding, home

    def _hands_optimizer(self, call: ast.Call, function: Function) -> bool:
        frame = self._analysis.evaluator.root_frame(function)
        given = (*call.args, *(word.value for word in call.keywords))
        return any(
            isinstance(each, ast.Name | ast.Attribute) and self._analysis.roles.is_optimizer(each, frame)
            for each in given
        ) or last_name(call.func) in ("initialize", "prepare", "setup")

    # -- the loss ----------------------------------------------------------------------------------------------

    def _of_calls(self, function: Function, backward: ast.Call | None) -> Iterator[Scaling]:
        """The calls that are given the loss, or the optimizer with it, instead of the backward."""
        receivers = [receiver for call in function.calls if (receiver := _differentiated(call)) is not None]
        losses = {ast.unparse(each) for each in receivers} | {name for each in receivers for name in names_in(each)}
        optimizers = {ast.unparse(optimizer) for optimizer, _ in self._stepped(function)}
        for call in function.calls:
            given = [*call.args, *(word.value for word in call.keywords)]
            if last_name(call.func) in _LOOK or (is_loss_call(call) and not self._may_scale(call.func, function)):
                continue
            texts = [ast.unparse(each) for each in given]
            with_loss = not losses.isdisjoint(texts) or any(
                isinstance(each, ast.BinOp) and not losses.isdisjoint(names_in(each)) for each in given
            )
            with_optimizer = not optimizers.isdisjoint(texts)
            if not with_loss and not with_optimizer:
                continue
            instead = backward is not None and not self._agree(call, backward, function)
            yield from self._of_call(call, function, with_loss, instead or (with_loss and with_optimizer))

    def _agree(self, call: ast.Call, backward: ast.Call, function: Function) -> bool:
        return self._analysis.path_conditions.agree(Location(function, call), Location(function, backward))

    def _of_call(self, call: ast.Call, function: Function, with_loss: bool, instead: bool) -> Iterator[Scaling]:
        place = Location(function, call)
        frame = self._analysis.evaluator.root_frame(function)
        receiver = call.func.value if isinstance(call.func, ast.Attribute) else call.func
        if self._analysis.roles.scaler(receiver, frame) is not None or self._is_of_framework(call.func, function):
            yield Scaling(place)
        elif self._analysis.roles.known_name(call.func, frame).startswith(("torch.", "builtins.")):
            return
        elif with_loss and isinstance(call.func, ast.Attribute) and call.func.attr in _SCALING:
            yield Scaling(place)
        elif callees := self._analysis.call_graph.callees(call, function):
            if any(callee in self._scaling for callee in callees):
                yield Scaling(place)
        elif with_loss and instead and self._is_unknown(call.func, function):
            what = ast.unparse(call.func)
            yield Scaling(place, f"whether `{what}`, which is given the loss instead, scales it cannot be told")

    def changes(self, receiver: ast.expr, losses: Collection[str], function: Function) -> Scaling | None:
        """What may scale a loss on its way to its backward: in the receiver, or in what gives it its name last.

        `losses`: the names of what was computed before. A call that is given one of them makes another loss of it.
        """
        made = _made_by(receiver)
        found = [*self._changes(receiver, function, lambda call: call is made and not _given(call).isdisjoint(losses))]
        for node in (each for each in walk(receiver) if isinstance(each, ast.Name)):
            for each in reaching(node.id, node, function) or ():
                if each.expr is not None:
                    found += self._changes(each.expr, function, partial(_is_given, node.id))
        return next((each for each in found if not each.unknown), next(iter(found), None))

    def _changes(self, expr: ast.expr, function: Function, again: Callable[[ast.Call], bool]) -> Iterator[Scaling]:
        """`again`: whether a call is given a loss, so that it cannot be what computes one."""
        for node in walk(expr):
            if isinstance(node, ast.Call):
                if isinstance(node.func, ast.Attribute) and node.func.attr in _OF_TENSORS and not node.args:
                    continue
                if is_loss_call(node) and not self._may_scale(node.func, function):
                    continue
                found = self._of_call(node, function, with_loss=True, instead=again(node))
                yield from (each for each in found if again(node) or not each.unknown)
            elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
                yield from self._by_hand(node, function)

    def _by_hand(self, product: ast.BinOp, function: Function) -> Iterator[Scaling]:
        """A loss times a number that is a scale: a large constant, or what the gradients are divided by again."""
        place = Location(function, product)
        for factor in (product.left, product.right):
            if isinstance(factor, ast.Constant) and isinstance(factor.value, int | float):
                if factor.value >= _LEAST_SCALE:
                    yield Scaling(place)
            elif isinstance(factor, ast.Name | ast.Attribute) and (name := last_name(factor)):
                if any(_divides_gradients(node, name) for node in function.own_nodes):
                    yield Scaling(place)
                elif speaks_of_a_scale(name):
                    yield Scaling(place, f"whether the gradients are divided by `{ast.unparse(factor)}` cannot be told")

    def _may_scale(self, func: ast.expr, function: Function) -> bool:
        """Whether what goes by a loss's name scales one: `scale_loss`, a wrapper around a scaler."""
        frame = self._analysis.evaluator.root_frame(function)
        return last_name(func) in _SCALING or self._analysis.roles.scaler(func, frame) is not None

    # -- frameworks --------------------------------------------------------------------------------------------

    def _is_of_framework(self, func: ast.expr, function: Function) -> bool:
        """Whether what is called belongs to a framework that scales, or is a method of an object of one."""
        evaluator = self._analysis.evaluator
        frame = evaluator.root_frame(function)
        parts = [func, func.value] if isinstance(func, ast.Attribute) else [func]
        for value in (each for part in parts for each in evaluator.values(part, frame)):
            if isinstance(value, ExternalName | ExternalResult) and value.name.startswith(_PACKAGES):
                return True
        return False

    def _is_unknown(self, func: ast.expr, function: Function) -> bool:
        """Whether what is called is neither the project's nor a library's that has nothing to do with training."""
        values = self._analysis.evaluator.values(func, self._analysis.evaluator.root_frame(function))
        return any(isinstance(value, Unknown | ExternalResult) for value in values)


def _differentiated(call: ast.Call) -> ast.expr | None:
    """The loss of `loss.backward()`."""
    match call:
        case ast.Call(func=ast.Attribute(value=receiver, attr="backward"), args=[]):
            return receiver
    return None


def _made_by(expr: ast.expr) -> ast.expr:
    """What a loss comes from, without the methods and the arithmetic of tensors around it."""
    while True:
        match expr:
            case ast.Call(func=ast.Attribute(value=inner, attr=attr), args=[]) if attr in _OF_TENSORS:
                expr = inner
            case ast.BinOp(left=inner, right=ast.Constant() | ast.Name() | ast.Attribute()):
                expr = inner
            case _:
                return expr


def _given(call: ast.Call) -> set[str]:
    return {name for each in (*call.args, *(word.value for word in call.keywords)) for name in names_in(each)}


def _is_given(name: str, call: ast.Call) -> bool:
    return name in _given(call)


def _divides_gradients(node: ast.AST, name: str) -> bool:
    """Whether a statement divides gradients by something of a name: `p.grad /= scale`, `p.grad.mul_(1 / scale)`."""
    match node:
        case ast.AugAssign(target=gradient, op=ast.Div() | ast.Mult(), value=by):
            pass
        case ast.Call(func=ast.Attribute(value=gradient, attr="div_" | "mul_"), args=[by]):
            pass
        case _:
            return False
    attributes = {each.attr for each in walk(gradient) if isinstance(each, ast.Attribute)}
    return "grad" in attributes and any(
        isinstance(each, ast.Name | ast.Attribute) and last_name(each) == name for each in walk(by)
    )
