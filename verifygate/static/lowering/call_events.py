"""Classify a call or an assignment as an event of the protocol: `scaler.unscale_(optimizer)` is an UNSCALE signal."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate import torch_names
from verifygate.base.records import record, replace
from verifygate.protocol import Event
from verifygate.static.amp.gradient_collections import GradientCollections, grad_among, grad_held, grad_squared, is_grad
from verifygate.static.amp.gradient_flow import GradientFlow
from verifygate.static.amp.parameter_sets import ParameterSet
from verifygate.static.amp.roles import Roles, Scaler, ScalerKind, identifiers
from verifygate.static.amp.scale_flow import ScaleFlow
from verifygate.static.lowering.event_graph import Backward, Deferred, ForeignBackward, Signal
from verifygate.static.lowering.gradient_writes import (
    is_limited,
    is_noise,
    is_of_one,
    meaning_of_write,
    names_in,
    speaks_of_grad,
)
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import is_none, is_number, walk
from verifygate.static.values.domain import (
    Bound,
    ClassValue,
    Frame,
    FunctionValue,
    Items,
    Literal,
    Object,
    Partial,
    Value,
)

_NO_LIMIT = 1e6
"""From here on a limit of a clip is there to measure the norm: norms of gradients are some ten thousand at most."""


@record
class CallEffect:
    """The signal of a call while its scaler is on, and while it is off (`enabled` says which)."""

    on: Signal | Backward | ForeignBackward | None
    off: Signal | Backward | ForeignBackward | None = None
    enabled: Bound | None = None
    closure: ast.expr | None = None
    """A function that the call runs first: `optimizer.step(closure)`."""


_SIZES = torch_names.GRAD_READINGS - {"abs", "pow", "square", "histc"}
"""Those that give one number for a gradient."""


class CallEvents:
    def __init__(self, roles: Roles) -> None:
        self.roles = roles
        self.scaling = ScaleFlow(roles)
        self.gathered = GradientCollections()

    def of_call(self, call: ast.Call, frame: Frame, guarded: bool) -> CallEffect | None:
        """The meaning of a call, or None where it has none in the protocol. `guarded`: behind a finite check."""
        func = self.scaling.bound(call.func, frame)
        if isinstance(func, ast.Attribute):
            receiver, method = func.value, func.attr
            if method in torch_names.SCALER_METHODS and (scaler := self.roles.scaler(receiver, frame)):
                return self._of_scaler(call, receiver, method, scaler, frame, guarded)
            if meaning := self._of_method(call, receiver, method, frame, guarded):
                return meaning
        return self._of_function(call, frame)

    def _of_scaler(
        self, call: ast.Call, receiver: ast.expr, method: str, scaler: Scaler, frame: Frame, guarded: bool
    ) -> CallEffect | None:
        path = self.roles.object(receiver, frame)
        presumed = scaler.kind is ScalerKind.PRESUMED
        if presumed and self._is_led_by_its_holder(receiver, frame):
            return CallEffect(None)
        event = {"unscale_": Event.UNSCALE, "step": Event.SCALER_STEP, "update": Event.UPDATE}.get(method)
        if event is None or (event is Event.SCALER_STEP and presumed and _with_closure(call)):
            return CallEffect(None)  # a scaler that takes closures has a protocol of its own; torch's refuses: AMP215
        optimizer = self._first(call, "optimizer")
        if event is not Event.UPDATE and optimizer is None:
            return CallEffect(None) if not presumed else None
        target = self.roles.object(optimizer, frame) if optimizer is not None and event is not Event.UPDATE else None
        direct = Signal(Event.CHECKED_STEP if guarded else Event.OPTIMIZER_STEP, None, target)
        off = direct if event is Event.SCALER_STEP else None
        if scaler.kind is ScalerKind.IDLE:
            return CallEffect(off)
        sets_scale = event is Event.UPDATE and bool(call.args or call.keywords)
        return CallEffect(
            Signal(
                event,
                path,
                target,
                sets_scale=sets_scale,
                origin=scaler.origin,
                is_any=scaler.is_any,
                evidence=scaler.evidence,
            ),
            off,
            scaler.enabled,
        )

    def _of_method(
        self, call: ast.Call, receiver: ast.expr, method: str, frame: Frame, guarded: bool
    ) -> CallEffect | None:
        if method == "backward":
            return self._backward(call, receiver, frame)
        if method == "step" and (self._is_scalers_own(frame) or self._is_given_a_scaler(call, frame)):
            return None
        if method in ("step", "zero_grad") and self._is_wrapped(receiver, frame):
            return None
        if method in ("step", "zero_grad") and self.roles.is_led_by_its_wrapper(receiver, frame):
            return None
        if method == "step" and (evidence := self.roles.optimizer_evidence(receiver, frame)) is not None:
            event = Event.CHECKED_STEP if guarded else Event.OPTIMIZER_STEP
            closure = self._first(call, "closure")
            return CallEffect(
                Signal(event, None, self.roles.object(receiver, frame), evidence=evidence), closure=closure
            )
        if method == "zero_grad" or (method in torch_names.SHARPNESS_STEPS and self._zeroes_out_of_sight(call, frame)):
            path = self.roles.object(receiver, frame) if self.roles.is_optimizer(receiver, frame) else None
            return CallEffect(
                Signal(
                    Event.ZERO_GRAD,
                    None,
                    path,
                    identifiers(receiver),
                    parameters=self.module_parameters(receiver, frame),
                )
            )
        if is_grad(receiver):
            if (
                method in torch_names.NONLINEAR_GRAD_METHODS
                or (method == "copy_" and self._copies_limited(self._first(call, "src"), frame))
                or (method in ("mul_", "div_") and self._is_measured(self._first(call, "other"), frame))
            ):
                return CallEffect(
                    Signal(Event.CLIP, names=identifiers(receiver), parameters=self.whose(receiver, frame))
                )
            if method == "zero_":
                zeroed = Signal(Event.ZERO_GRAD, names=identifiers(receiver), parameters=self.whose(receiver, frame))
                return CallEffect(None if is_of_one(receiver) else zeroed)
            if method in _SIZES and _only_normalises(call, receiver, frame):
                return None
            if method in torch_names.GRAD_READINGS or (method == "add_" and call.args and is_noise(call.args[0])):
                return CallEffect(
                    Signal(Event.READ, names=identifiers(receiver), parameters=self.whose(receiver, frame))
                )
        if (
            method in torch_names.CLIP_METHODS
            and not _only_measures(call)
            and not self._has_scaled_limit(call, frame)
            and not self.roles.known_name(call.func, frame)
        ):
            if any(isinstance(value, FunctionValue) for value in self.roles.evaluator.values(call.func, frame)):
                return None  # the project's own clip: what it does is read, not presumed
            names = identifiers(call.args[0]) if call.args and not is_number(call.args[0]) else identifiers(receiver)
            return CallEffect(Signal(Event.CLIP, names=names))
        return None

    # -- whose gradients ---------------------------------------------------------------------------------------

    def listed(self, parameters: ast.expr, frame: Frame) -> Deferred[ParameterSet | None]:
        """The parameters that an expression lists."""
        return Deferred(lambda: self.roles.parameters.of(parameters, frame))

    def module_parameters(self, module: ast.expr, frame: Frame) -> Deferred[ParameterSet | None]:
        """The parameters of a module."""
        return Deferred(lambda: self.roles.parameters.of_module(module, frame))

    def whose(self, grad: ast.expr, frame: Frame) -> Deferred[ParameterSet | None]:
        """The parameters that a gradient is of: `p` of `p.grad.data`, which may go through all that a loop is over."""
        holders = [node.value for node in walk(grad) if isinstance(node, ast.Attribute) and node.attr == "grad"]
        return self.listed(holders[0], frame) if holders else Deferred(lambda: None)

    def _flow(self, loss: ast.expr, frame: Frame) -> Deferred[GradientFlow | None]:
        """Whose parameters a backward from a loss reaches."""
        return Deferred(lambda: self.roles.flows.of_loss(loss, frame))

    def _zeroes_out_of_sight(self, call: ast.Call, frame: Frame) -> bool:
        """Whether an outside step is passed a flag to zero the gradients: `first_step(zero_grad=True)`."""
        is_flagged = any(word.arg == "zero_grad" and ast.unparse(word.value) == "True" for word in call.keywords)
        values = self.roles.evaluator.values(call.func, frame) if is_flagged else ()
        return is_flagged and not any(isinstance(each, FunctionValue) for each in values)

    def _is_scalers_own(self, frame: Frame) -> bool:
        """Whether the code is part of a scaler: stepping the optimizer is its task."""
        owner = frame.function.owner
        return owner is not None and bool(self.roles.evaluator.outside_bases(owner) & torch_names.GRAD_SCALERS)

    def _is_led_by_its_holder(self, receiver: ast.expr, frame: Frame) -> bool:
        """Whether an object that is not the project's own holds the scaler, and steps or updates out of sight.

        `accelerator.scaler.unscale_(optimizer)`, and then `accelerator.step(optimizer)`.
        """
        if not isinstance(receiver, ast.Attribute):
            return False
        holder = ast.unparse(receiver.value)
        values = self.roles.evaluator.values(receiver.value, frame)
        return not any(isinstance(value, Object) for value in values) and any(
            isinstance(call.func, ast.Attribute)
            and call.func.attr in ("step", "update")
            and ast.unparse(call.func.value) == holder
            for call in frame.function.calls
        )

    def _is_wrapped(self, receiver: ast.expr, frame: Frame) -> bool:
        """Whether an optimizer comes back from a function of the project that it was given to, in a way not followed.

        Such a function wraps what it is given: `model, optimizer = accelerator.prepare(model, optimizer)`.
        """
        evaluator = self.roles.evaluator
        bindings, home = (isinstance(receiver, ast.Name) and evaluator.lookup(receiver.id, frame)) or ((), frame)
        return self.roles.may_step_by_a_scaler(receiver, frame) or any(
            binding.kind == "item"
            and isinstance(binding.expr, ast.Call)
            and any(isinstance(each, ast.Name) and each.id == receiver.id for each in binding.expr.args)  # type: ignore[attr-defined]
            and bool(evaluator.callees(binding.expr, home))
            and not any(isinstance(value, Items) for value in evaluator.values(binding.expr, home))
            for binding in bindings
        )

    def _is_given_a_scaler(self, call: ast.Call, frame: Frame) -> bool:
        """Whether a scaler is passed: what steps or derives with it is a wrapper."""
        given = (*call.args, *(word.value for word in call.keywords))
        return any(self.roles.scaler(each, frame) is not None for each in given)

    def _is_measured(self, factor: ast.expr | None, frame: Frame) -> bool:
        """Whether a factor comes of the size of a gradient: `limit / (p.grad.norm() + eps)`.

        Not of two sizes, whose ratio has no scale, nor where the scale is reckoned with.
        """
        if factor is None or self.scaling.reaches_scale(factor, frame):
            return False
        queue, seen, sizes = [factor], set[str](), 0
        while queue:
            for node in walk(queue.pop()):
                if isinstance(node, ast.Compare) and not all(isinstance(op, ast.Is | ast.IsNot) for op in node.ops):
                    return False  # a mask: which elements are above zero, or among the largest, may have no scale
                if isinstance(node, ast.Call) and last_name(node.func) in _SIZES:
                    held = node.func.value if isinstance(node.func, ast.Attribute) else None
                    sizes += any(each is not None and is_grad(each) for each in (held, *node.args[:1]))
                elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "sum":
                    sizes += _is_squared_grad(node.func.value)
                elif isinstance(node, ast.Name) and node.id not in seen:
                    seen.add(node.id)
                    bound = frame.function.scope.names.get(node.id, ())
                    queue += [each.expr for each in bound if each.kind in ("value", "changed") and each.expr]
        return sizes == 1

    def _copies_limited(self, source: ast.expr | None, frame: Frame) -> bool:
        """Whether what a gradient is overwritten with depends on its size, here or where it was defined."""
        bound = self.scaling.bound(source, frame) if source is not None else None
        return bound is not None and is_limited(bound, frame)

    def of_grad_assignment(
        self, target: ast.expr, value: ast.expr | None, frame: Frame, *, augments: bool, guarded: bool
    ) -> Signal | None:
        """The meaning of assigning to `.grad`, or to a part of it."""
        event = meaning_of_write(target, value, frame, self.scaling, augments=augments, guarded=guarded)
        if event is None and value is not None and is_grad(target) and not augments:
            factors = [node for node in walk(value) if isinstance(node, ast.BinOp)]
            if any(self._is_measured(part, frame) for each in factors for part in (each.left, each.right)):
                event = Event.CLIP
        if event is None:
            return None
        return Signal(event, names=names_in(target), parameters=self.whose(target, frame))

    def _has_scaled_limit(self, call: ast.Call, frame: Frame) -> bool:
        """Whether the limit of a clip is computed from the scale: it grows with the gradients."""
        given = (*call.args, *(word.value for word in call.keywords))
        return any(self.scaling.reaches_scale(each, frame) for each in given)

    def _completed(self, call: ast.Call, frame: Frame) -> tuple[ast.Call, Frame]:
        """The call that a call of a `partial` makes, and the frame of its first arguments: those of the partial.

        A setting may choose between partials that all clip, or None, whose call raises: `build_clipper(config)`.
        """
        values = self.roles.evaluator.values(call.func, frame)
        there = [value for value in values if not (isinstance(value, Literal) and value.value is None)]
        match there:
            case [Partial(calls=((made, home),)), *others] if not others or all(map(_clips, there)):
                whole = ast.Call(made.func, [*made.args, *call.args], [*made.keywords, *call.keywords])
                return ast.copy_location(whole, call), home if made.args else frame
        return call, frame

    def _of_function(self, call: ast.Call, frame: Frame) -> CallEffect | None:
        call, home = self._completed(call, frame)
        known = self.roles.known_name(call.func, frame)
        name = known.rpartition(".")[2] or last_name(call.func)
        if name in torch_names.CLIP_FUNCTIONS and self._has_scaled_limit(call, frame):
            return CallEffect(None)  # a threshold that is scaled as well: clipping before unscale_ is right then
        if name in torch_names.CLIP_FUNCTIONS:
            values = self.roles.evaluator.values(call.func, frame)
            if any(isinstance(value, FunctionValue) for value in values):
                return None
            if not known and isinstance(call.func, ast.Attribute) and _only_measures(call):
                return CallEffect(Signal(Event.READ, names=identifiers(call.func.value)))
            event = Event.READ if known and _is_without_end(call) else Event.CLIP
            if (listed := self._first(call, "parameters")) is None:
                return CallEffect(Signal(event))
            return CallEffect(Signal(event, names=identifiers(listed), parameters=self.listed(listed, home)))
        if known == "torch.autograd.backward" and call.args:
            return CallEffect(self.backward(call.args[0], frame))
        if name in torch_names.GRAD_READINGS | torch_names.GRAD_RECORDERS:
            gathered = self.gathered.by(frame.function)
            grad = grad_held(call.func.value, gathered) if isinstance(call.func, ast.Attribute) else None
            if (grad := grad or grad_among(call, gathered)) is not None:
                if name in _SIZES and _only_normalises(call, grad, frame):
                    return None
                return CallEffect(Signal(Event.READ, names=identifiers(grad)))
        if name == "sum" and call.args and (grad := grad_squared(call.args[0])) is not None:
            return CallEffect(Signal(Event.READ, names=identifiers(grad)))
        if (
            name in torch_names.LIMITING_FUNCTIONS
            and known.startswith("torch.")
            and call.args
            and is_grad(call.args[0])
        ):
            return CallEffect(Signal(Event.CLIP, names=identifiers(call.args[0])))
        if known == "torch.where" and call.args and speaks_of_grad(call.args[0]):
            return CallEffect(Signal(Event.CLIP, names=identifiers(call.args[0])))
        return None

    def _backward(self, call: ast.Call, receiver: ast.expr, frame: Frame) -> CallEffect | None:
        if self.roles.known_name(call.func, frame) == "torch.autograd.backward":
            return CallEffect(self.backward(call.args[0], frame)) if call.args else None
        values = self.roles.evaluator.values(receiver, frame)
        if any(isinstance(value, Object | ClassValue) for value in values):
            return None
        if self._is_given_a_scaler(call, frame):
            return CallEffect(ForeignBackward())  # losses.backward(scaler): it scales what it derives
        if call.args and isinstance(receiver, ast.Name | ast.Attribute) and "loss" not in last_name(receiver).lower():
            return CallEffect(ForeignBackward())  # accelerator.backward(loss), engine.backward(loss): another protocol
        return self._scaled_meaning(receiver, frame)

    def _scaled_meaning(self, receiver: ast.expr, frame: Frame) -> CallEffect:
        """A backward on an expression that calls `scale` itself is scaled only while that scaler is on."""
        scaler = self.scaling.scaler_in(receiver, frame)
        plain = Backward(self.scaling.sources(receiver, frame), flow=self._flow(receiver, frame))
        if scaler is None:
            return CallEffect(plain)
        idle = replace(plain, idle=True)
        if scaler.kind is ScalerKind.IDLE:
            return CallEffect(idle)
        scaled = replace(plain, scaled=True, origin=scaler.origin, evidence=scaler.evidence)
        return CallEffect(scaled, idle, scaler.enabled)

    def backward(self, root: ast.expr, frame: Frame) -> Backward:
        scaler = self.scaling.scaler_in(root, frame)
        origin = scaler.origin if scaler is not None else None
        roots = self.scaling.sources(root, frame)
        return Backward(roots, scaled=scaler is not None, origin=origin, flow=self._flow(root, frame))

    @staticmethod
    def _first(call: ast.Call, keyword: str) -> ast.expr | None:
        if call.args:
            return call.args[0]
        return next((word.value for word in call.keywords if word.arg == keyword), None)


def _clips(value: Value) -> bool:
    return isinstance(value, Partial) and value.name.rpartition(".")[2] in torch_names.CLIP_FUNCTIONS


def _only_normalises(call: ast.Call, grad: ast.expr, frame: Frame) -> bool:
    """Whether the size of gradients is only what they themselves are divided by: the quotient has no scale.

    `size = p.grad.norm()`, and then `if size != 0: p.data.add_(rate * p.grad / size)`; the size of all of them as well.
    """
    nodes = frame.function.own_nodes
    holders = [
        node for node in nodes if isinstance(node, ast.Assign) and any(part is call for part in walk(node.value))
    ]
    match [node.targets for node in holders]:
        case [[ast.Name(id=name)]] if len(frame.function.scope.names.get(name, ())) == 1:
            pass
        case _:
            return False
    own = next((node for node in walk(grad) if isinstance(node, ast.Attribute) and node.attr == "grad"), grad)
    same, divisors, queried = ast.dump(own), set[ast.AST](), set[ast.AST]()
    for node in nodes:
        match node:
            case ast.BinOp(left=left, op=ast.Div(), right=right) if _holds(left, same):
                divisors.update(walk(right))
            case ast.BinOp(left=left, op=ast.Mult(), right=right) if _holds(left, same) or _holds(right, same):
                divisors.update(_divisors(right if _holds(left, same) else left))
            case ast.Call(args=args) if any(_holds(each, same) for each in args):
                divisors.update(part for word in node.keywords if word.arg == "alpha" for part in _divisors(word.value))
            case ast.Compare(comparators=[ast.Constant(value=0)]):
                queried.add(node.left)
            case ast.Call(func=ast.Attribute(value=asked, attr="isnan" | "isinf" | "isfinite"), args=[]):
                queried.add(asked)
            case ast.Call() if last_name(node.func) in ("isnan", "isinf", "isfinite"):
                queried.update(node.args)
    reads = [
        node for node in nodes if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
    ]
    return any(each in divisors for each in reads) and all(each in divisors | queried for each in reads)


def _holds(expr: ast.expr, dumped: str) -> bool:
    return any(ast.dump(each) == dumped for each in walk(expr))


def _divisors(expr: ast.expr) -> Iterator[ast.AST]:
    """All that an expression divides by."""
    for node in walk(expr):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            yield from walk(node.right)


def _with_closure(call: ast.Call) -> bool:
    named = next((word.value for word in call.keywords if word.arg == "closure"), None)
    given = named or (call.args[1] if len(call.args) > 1 else None)
    return given is not None and not is_none(given)


def _only_measures(call: ast.Call) -> bool:
    """Whether a method that clips is passed no limit, as `clip_grad_norm(0)`: it gives the norm."""
    limit = next((word.value for word in call.keywords if word.arg in ("max_norm", "clip_norm")), None)
    limit = limit or (call.args[0] if len(call.args) == 1 or (call.args and is_number(call.args[0])) else None)
    return isinstance(limit, ast.Constant) and limit.value in (0, None)


def _is_without_end(call: ast.Call) -> bool:
    """Whether the limit of a clip is one that no gradient reaches: `clip_grad_norm_(parameters, float("inf"))`."""
    limit = next((word.value for word in call.keywords if word.arg == "max_norm"), None)
    limit = limit or (call.args[1] if len(call.args) > 1 else None)
    match limit:
        case ast.Constant(value=int() | float() as number):
            return number >= _NO_LIMIT
        case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str() as text)]):
            return text.lower().startswith("inf")
    return limit is not None and last_name(limit) == "inf"


def _is_squared_grad(expr: ast.expr) -> bool:
    """Whether an expression is the square of a gradient: `p.grad ** 2`, `p.grad.pow(2)`, `p.grad.square()`."""
    match expr:
        case ast.BinOp(left=grad, op=ast.Pow()) | ast.Call(func=ast.Attribute(value=grad, attr="pow" | "square")):
            return is_grad(grad)
    return False
