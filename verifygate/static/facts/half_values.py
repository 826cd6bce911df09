"""Which expressions are half precision inside a CUDA autocast region, by the operator policy of autocast.

Products of matrices and convolutions come out half; element-wise operators keep what they are given; softmax, log,
exp, pow, sums, norms and losses come out float32. What depends on the caller is unknown, and counts as not half.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from verifygate.base.records import record
from verifygate.static.amp.roles import Roles
from verifygate.static.symbols.program import Function
from verifygate.static.symbols.reaching_definitions import reaching
from verifygate.static.symbols.scopes import Binding
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import (
    ClassValue,
    Frame,
    FunctionValue,
    Known,
    Literal,
    Made,
    Object,
    Unknown,
    Value,
    Values,
)

LARGEST = 65504.0
SMALLEST = 2.98e-8
"""What is not larger than half of the smallest subnormal rounds to zero."""

_PRODUCTS = frozenset(
    """matmul mm bmm addmm baddbmm addbmm einsum linear bilinear mv chain_matmul scaled_dot_product_attention
    conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d""".split()  # noqa: SIM905
)
_LAYERS = r"^torch\.nn\.(Linear|Bilinear|Conv\w+|LazyLinear|LazyConv\w+)$"
_SEQUENCE = "torch.nn.Sequential"
_PASSES = r"^torch\.nn\.(ReLU6?|LeakyReLU|GELU|SiLU|Tanh|Sigmoid|Dropout|Identity|Flatten)$"
"""Modules that keep the dtype of what they are given."""
_KEEPS = frozenset(
    """sigmoid sigmoid_ tanh relu relu_ gelu silu leaky_relu hardtanh mean view reshape transpose permute squeeze
    unsqueeze flatten contiguous clone detach abs chunk split repeat expand masked_fill masked_fill_ masked_select
    gather index_select clamp clamp_ clamp_min dropout t flip roll neg sort topk max min amax amin div mul sub add div_
    mul_ sub_ add_ std var sqrt sqrt_""".split()  # noqa: SIM905
)
_GIVES_FLOAT32 = frozenset(
    {"sum", "prod", "cumsum", "cumprod", "norm", "dist", "cosine_similarity", "softmax", "log_softmax", "softplus"}
    | {"exp", "log", "pow", "reciprocal", "rsqrt", "layer_norm", "group_norm"}
)
"""Operators that autocast runs in float32 on CUDA, whatever they are given."""
_LIFTING = r"(?i)norm|embed|softmax|loss|crit|\bln|_ln|pos|sample|dist"
"""Names of layers that give float32, or indices, or anything but features."""
_NUMBERS = r"(?i)scal|temp|sqrt|dim|d_k|norm_fact|alpha|coef|lambda"
_SQUASHES = frozenset({"sigmoid", "sigmoid_"})
_COUNTS = frozenset({"size", "dim", "numel", "item"})
"""Methods of a tensor that give a Python number."""
_MAX_STEPS = 12


@record
class _Reading:
    """How much is taken for half."""

    squashed: bool
    layers: bool


class Halves:
    def __init__(self, roles: Roles) -> None:
        self.roles = roles
        self.evaluator = roles.evaluator

    def is_half(self, expr: ast.expr, function: Function, *, squashed: bool = False, layers: bool = False) -> bool:
        """Whether `expr` is half inside the region.

        `squashed` also takes a sigmoid of what is not known, `layers` what a layer gives that is not known, and what a
        function of the project makes of it: these only may be half.
        """
        frame = self.evaluator.root_frame(function)
        return self._half(expr, frame, _Reading(squashed, layers), frozenset(), 0) is True

    def may_be_half(self, expr: ast.expr, frame: Frame) -> bool:
        """Whether `expr` may be half where a call has entered the function, a sigmoid of what is not known too."""
        return self._half(expr, frame, _Reading(squashed=True, layers=False), frozenset(), 0) is True

    def _half(self, expr: ast.expr, frame: Frame, how: _Reading, met: frozenset[str], steps: int) -> bool | None:
        """True for half, None for a Python number, False for the rest."""
        if steps > _MAX_STEPS:
            return False
        deeper = steps + 1
        match expr:
            case ast.Constant(value=int() | float()):
                return None
            case ast.BinOp(op=ast.MatMult()):
                return True
            case ast.BinOp(op=ast.Pow()):
                sides = [self._half(side, frame, how, met, deeper) for side in (expr.left, expr.right)]
                return None if sides == [None, None] else False
            case ast.BinOp(op=ast.FloorDiv()):
                return None  # a size: `d // heads`
            case ast.BinOp():
                sides = [self._half(side, frame, how, met, deeper) for side in (expr.left, expr.right)]
                return False if False in sides else (True if True in sides else None)
            case ast.UnaryOp():
                return self._half(expr.operand, frame, how, met, deeper)
            case ast.IfExp() if how.squashed:
                return True in (self._half(arm, frame, how, met, deeper) for arm in (expr.body, expr.orelse))
            case ast.Subscript(value=ast.Attribute(attr="shape")):
                return None
            case ast.Subscript():
                return self._half(expr.value, frame, how, met, deeper) is True
            case ast.Call():
                return self._call(expr, frame, how, met, deeper)
            case ast.Name() if expr.id in met:
                return not how.layers  # bound to something made of itself: the other bindings decide
            case ast.Name():
                return self._name(expr, frame, how, met, deeper)
            case ast.Attribute(attr="data" | "T" | "mT"):
                return self._half(expr.value, frame, how, met, deeper) is True
            case ast.Attribute():
                return None if re.search(_NUMBERS, expr.attr) else False
        return False

    def _name(self, expr: ast.Name, frame: Frame, how: _Reading, met: frozenset[str], steps: int) -> bool | None:
        bindings, home = self.evaluator.lookup(expr.id, frame) or ([], frame)
        here = f"{expr.id} in line {expr.lineno}"
        if how.squashed and home is frame and here not in met:  # what it was given last decides, not what it was before
            last = reaching(expr.id, expr, frame.function) or []
            given = home.arguments.get(expr.id) if any(each.kind == "parameter" for each in last) else None
            given_last = [(each.expr, home) for each in last if each.kind == "value" and each.expr is not None]
            given_last += [(given.expr, given.frame)] if given is not None else []
            if any(self._half(value, where, how, met | {here}, steps) is True for value, where in given_last):
                return True
        if how.layers and home is frame:
            reached = reaching(expr.id, expr, frame.function) or bindings
            if any(each.kind == "changed" for each in reached):  # it leaves the dtype: what came before decides
                reached = [each for each in bindings if getattr(each.node, "lineno", 0) < expr.lineno]
            values = [each.expr for each in reached if each.kind == "value" and each.expr is not None]
            met = met | {expr.id}
            if any(self._half(value, home, how, met, steps) for value in values):
                return True
        if bindings and all(each.kind in ("value", "changed") and each.expr is not None for each in bindings):
            met = met | {expr.id}
            made = [
                self._half(each.expr, home, how, met, steps)
                for each in bindings
                if each.kind == "value" and each.expr is not None
            ]
            if made and all(made):
                return True  # `x += y` leaves x the dtype that it has
            found = [self._half(each.expr, home, how, met, steps) for each in bindings if each.expr is not None]
            return False if False in found else (True if True in found else None)
        if bindings and all(each.kind == "item" and _is_shape(each.expr) for each in bindings):
            return None
        if len(bindings) == 1 and bindings[0].kind == "parameter" and (bound := home.arguments.get(expr.id)):
            return self._half(bound.expr, bound.frame, how, met, steps + 1)
        return None if re.search(_NUMBERS, expr.id) else False

    def _call(self, call: ast.Call, frame: Frame, how: _Reading, met: frozenset[str], steps: int) -> bool | None:
        name = last_name(call.func)
        values = self.evaluator.values(call.func, frame)
        if any(self._is_layer(value) for value in values):
            return all(self._is_layer(value) for value in values)
        if how.layers and _is_own_layer(call, values):
            return True
        if how.layers and any(isinstance(value, FunctionValue) for value in values):
            return self._returned(call, values, frame, how, steps)
        if how.squashed and (callees := self.evaluator.callees(call, frame)):
            return self._returned(call, callees, frame, how, steps)
        known = next((value.name for value in values if isinstance(value, Known)), "")
        if known.startswith(("math.", "numpy.", "builtins.")):
            return None
        is_method = isinstance(call.func, ast.Attribute) and not known
        if not is_method and not known.startswith("torch."):
            return False
        if name in _PRODUCTS:
            return True
        if is_method and name in _COUNTS:
            return None
        subject = call.func.value if is_method else (call.args[0] if call.args else None)  # type: ignore[attr-defined]
        if name not in _KEEPS or subject is None:
            return False
        if name in _SQUASHES and how.squashed:
            return not (self._is_lifted(subject) or self._is_float32(subject, frame, steps))
        return self._half(subject, frame, how, met, steps) is True

    def _is_layer(self, value: Value) -> bool:
        """Whether a module's output is half: a layer, or a sequence of them, but for what keeps the dtype behind it."""
        if not isinstance(value, Made) or value.name != _SEQUENCE:
            return isinstance(value, Made) and re.match(_LAYERS, value.name) is not None
        given = [(part, frame) for call, frame in value.calls[:1] for part in call.args]
        for part, frame in reversed(given):
            made = self.evaluator.values(part, frame)
            if not made or not all(isinstance(each, Made) and re.match(_PASSES, each.name) for each in made):
                return bool(made) and all(self._is_layer(each) for each in made)
        return False

    def _returned(self, call: ast.Call, values: Iterable[Value], frame: Frame, how: _Reading, steps: int) -> bool:
        """Whether all that a function of the project, or a module's forward, returns is half. Its names are its own."""
        found: list[bool | None] = []
        for value in values:
            entered = self.evaluator.enter(value, call, frame) if isinstance(value, FunctionValue) else None
            if entered is None or not isinstance(value, FunctionValue):
                return False
            found += [self._half(result, entered, how, frozenset(), steps + 1) for result in value.function.returns]
        return bool(found) and all(found)

    @staticmethod
    def _is_lifted(expr: ast.expr) -> bool:
        """Whether an expression asks for float32 itself."""
        return any(
            isinstance(node, ast.Attribute) and node.attr in ("float", "double", "float32") for node in walk(expr)
        )

    def _is_float32(self, expr: ast.expr, frame: Frame, steps: int) -> bool:
        """Whether an expression is made of a sum or the like: `(users * items).sum(-1) - (users * others).sum(-1)`."""
        if steps > _MAX_STEPS:
            return False
        match expr:
            case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div()):
                return any(self._is_float32(side, frame, steps + 1) for side in (expr.left, expr.right))
            case ast.UnaryOp():
                return self._is_float32(expr.operand, frame, steps + 1)
            case ast.Call(func=ast.Attribute(attr=name, value=receiver)):
                of = expr.args[0] if expr.args else receiver
                return name in _GIVES_FLOAT32 or (name in _SQUASHES and self._is_float32(of, frame, steps + 1))
            case ast.Name():
                bindings = reaching(expr.id, expr, frame.function) or []
                made = [each.expr for each in bindings if each.kind == "value" and each.expr is not None]
                if made and len(made) == len(bindings):
                    return all(self._is_float32(each, frame, steps + 1) for each in made)
        return False

    def _constants(self, expr: ast.Attribute, frame: Frame, met: frozenset[ast.expr]) -> set[float | None]:
        """What an attribute is in the classes that its object may be of, where it is given a value once."""
        found: set[float | None] = set()
        for value in self.evaluator.values(expr.value, frame):
            if isinstance(value, Object | ClassValue) and expr.attr not in value.made.fields:  # a record's are given
                bound = [
                    (each, owner)
                    for made in self.evaluator.linearised(value.made)
                    for each, owner in made.attributes.get(expr.attr, ())
                ]
                if len(bound) == 1 and bound[0][0].kind == "value":
                    (binding, owner) = bound[0]
                    home = self.evaluator.root_frame(owner) if owner else self.evaluator.module_frame(value.made.module)
                    found.add(self._bound_number(binding, home, met))
        return found

    def _bound_number(self, binding: Binding, home: Frame, met: frozenset[ast.expr]) -> float | None:
        if binding.expr is None or binding.expr in met:
            return None
        return self.number(binding.expr, home, met | {binding.expr})

    def number(self, expr: ast.expr | None, frame: Frame, met: frozenset[ast.expr] = frozenset()) -> float | None:
        """The number that an expression is, where the source says it: one that is made of itself is none."""
        if expr is None:
            return None
        match expr:
            case ast.Constant(value=bool()):
                return None
            case ast.Constant(value=int() | float() as value):
                return float(value)
            case ast.UnaryOp(op=ast.USub()):
                inner = self.number(expr.operand, frame, met)
                return None if inner is None else -inner
            case ast.Call(func=ast.Name(id="float" | "int"), args=[given]):
                return self.number(given, frame, met)
            case ast.BinOp():
                left, right = self.number(expr.left, frame, met), self.number(expr.right, frame, met)
                return None if left is None or right is None else _computed(expr.op, left, right)
            case ast.Name():
                bindings, home = self.evaluator.lookup(expr.id, frame) or ([], frame)
                if len(bindings) == 1 and bindings[0].kind == "value":
                    return self._bound_number(bindings[0], home, met)
            case ast.Attribute():
                constants = self._constants(expr, frame, met)
                if constants:
                    return constants.pop() if len(constants) == 1 else None
        values = self.evaluator.values(expr, frame)
        only = next(iter(values)) if len(values) == 1 else None
        is_number = (
            isinstance(only, Literal) and isinstance(only.value, int | float) and not isinstance(only.value, bool)
        )
        return float(only.value) if is_number else None  # type: ignore[union-attr, arg-type]


def _is_own_layer(call: ast.Call, values: Values) -> bool:
    """Whether a call runs an attribute of the module that may be any layer, but for those that give float32."""
    func = call.func
    own = isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == "self"
    known = any(not isinstance(value, Unknown | Object) for value in values)
    return own and not known and not re.search(_LIFTING, last_name(func))


def _is_shape(expr: ast.expr | None) -> bool:
    """Whether an expression is `x.shape` or `x.size()`."""
    return isinstance(expr, ast.Attribute | ast.Call) and last_name(expr) in ("shape", "size")


def _computed(op: ast.operator, left: float, right: float) -> float | None:
    match op:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.Pow() if abs(left) <= 10 and 0 <= right <= 64:
            return float(left**right)
    return None
