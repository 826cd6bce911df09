"""Dtype propagation through expressions, by the operator policy of CUDA autocast: is this tensor in half precision.

`(q @ k.transpose(1, 2)) / math.sqrt(d)` is half, for `@` runs in half precision and the division keeps that;
`x.softmax(-1) * 2` is float32. What depends on the caller is unknown.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from verifygate.base.records import record, replace
from verifygate.static.amp.roles import Roles
from verifygate.static.facts.dtype_lattice import (
    DTYPE_PRESERVING_OPERATORS,
    FLOAT32_OPERATORS,
    HALVES,
    LOWER_PRECISION_OPERATORS,
    NUMBER_METHODS,
    Dtype,
    half_or_unknown,
    join,
    promote,
)
from verifygate.static.symbols.reaching_definitions import reaching
from verifygate.static.symbols.scopes import Binding
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.allowance import Allowance
from verifygate.static.values.domain import (
    Bound,
    ExternalName,
    ExternalResult,
    Frame,
    FunctionValue,
    Object,
    Unknown,
    Value,
    Values,
)

_LAYERS = r"^torch\.nn\.(Linear|Bilinear|Conv\w+|LazyLinear|LazyConv\w+)$"
_SEQUENCE = "torch.nn.Sequential"
_PASSES = r"^torch\.nn\.(ReLU6?|LeakyReLU|GELU|SiLU|Tanh|Sigmoid|Dropout|Identity|Flatten)$"
"""Modules that keep the dtype of what they are given."""
_LIFTING = r"(?i)norm|embed|softmax|loss|crit|\bln|_ln|pos|sample|dist"
"""Names of layers that give float32, or indices, or anything but features."""
_NUMBERS = r"(?i)scal|temp|sqrt|dim|d_k|norm_fact|alpha|coef|lambda"
_SIGMOIDS = frozenset({"sigmoid", "sigmoid_"})
_WIDE = frozenset({Dtype.FLOAT32, Dtype.FLOAT64})
_MAX_STEPS = 12


@record
class Assumptions:
    """What is assumed of a tensor where the source does not tell its dtype: findings that rest on it are likely only.

    With either assumption a name is half where one of the definitions that reach it is: a may-analysis. Without one it
    is half where all of them are: a must-analysis.
    """

    unknown_sigmoids_are_half: bool = False
    """A sigmoid of an unknown tensor is half. The functions of the project that a call runs are followed."""
    unknown_layers_are_half: bool = False
    """`self.layer(x)` is half, where nothing tells what `self.layer` is, or what a function makes of it."""


NOTHING = Assumptions()
UNKNOWN_SIGMOIDS = Assumptions(unknown_sigmoids_are_half=True)
UNKNOWN_LAYERS = Assumptions(unknown_layers_are_half=True)


@record
class _At:
    """Where an expression is evaluated: the frame, what is assumed, the names on the way to it, and how many steps."""

    frame: Frame
    assume: Assumptions
    met: frozenset[str] = frozenset()
    steps: int = 0

    def meeting(self, name: str) -> _At:
        return replace(self, met=self.met | {name})

    def within(self, frame: Frame) -> _At:
        return self if frame is self.frame else replace(self, frame=frame)

    def deeper(self) -> _At:
        return replace(self, steps=self.steps + 1)


class TensorDtypes:
    """Answers for the expressions of one set of modules, as if each stood in a CUDA autocast region."""

    def __init__(self, roles: Roles) -> None:
        self.evaluator = roles.evaluator
        self._allowance = Allowance(most=5_000, in_all=50_000, few=200)
        self._known: dict[tuple[ast.expr, _At], Dtype] = {}
        """The answers on the way to the one that is looked for."""

    def of(self, expr: ast.expr, frame: Frame, assume: Assumptions = NOTHING) -> Dtype:
        """The dtype of an expression: HALF, FLOAT32, PYTHON_NUMBER or UNKNOWN."""
        self._allowance.begin()
        self._known.clear()
        found = self._of(expr, _At(frame, assume))
        if self._allowance.is_cut:
            self.evaluator.demand.cut_short.append((expr, frame))
        return found

    def is_half(self, expr: ast.expr, frame: Frame, assume: Assumptions = NOTHING) -> bool:
        return self.of(expr, frame, assume) in HALVES

    def _of(self, expr: ast.expr, at: _At) -> Dtype:
        key = (expr, at)
        if (known := self._known.get(key)) is None:
            if at.steps > _MAX_STEPS or not self._allowance.step():
                return Dtype.UNKNOWN
            known = self._known[key] = self._found(expr, at.deeper())
        return known

    def _found(self, expr: ast.expr, at: _At) -> Dtype:
        match expr:
            case ast.Constant(value=int() | float()):
                return Dtype.PYTHON_NUMBER
            case ast.BinOp():
                return self._of_operator(expr, at)
            case ast.UnaryOp():
                return self._of(expr.operand, at)
            case ast.IfExp() if at.assume.unknown_sigmoids_are_half:
                return _may(self._of(branch, at) for branch in (expr.body, expr.orelse))
            case ast.Subscript():
                return self._of_subscript(expr, at)
            case ast.Call():
                return self._of_call(expr, at)
            case ast.Name():
                return self._of_name(expr, at)
            case ast.Attribute():
                return self._of_attribute(expr, at)
        return Dtype.UNKNOWN

    # -- operators and attributes ------------------------------------------------------------------------------

    def _of_operator(self, expr: ast.BinOp, at: _At) -> Dtype:
        match expr.op:
            case ast.MatMult():
                return Dtype.HALF
            case ast.FloorDiv():
                return Dtype.PYTHON_NUMBER  # a size: `d // heads`
        left, right = self._of(expr.left, at), self._of(expr.right, at)
        if isinstance(expr.op, ast.Pow):
            return Dtype.PYTHON_NUMBER if left is right is Dtype.PYTHON_NUMBER else Dtype.FLOAT32
        return promote(left, right)

    def _of_subscript(self, expr: ast.Subscript, at: _At) -> Dtype:
        if isinstance(expr.value, ast.Attribute) and expr.value.attr == "shape":
            return Dtype.PYTHON_NUMBER
        return half_or_unknown(self._of(expr.value, at))

    def _of_attribute(self, expr: ast.Attribute, at: _At) -> Dtype:
        if expr.attr in ("data", "T", "mT", "mH", "H", "values"):  # the values of `x.max(dim)`, `x.sort()`, `x.topk(k)`
            return half_or_unknown(self._of(expr.value, at))
        return Dtype.PYTHON_NUMBER if re.search(_NUMBERS, expr.attr) else Dtype.UNKNOWN

    # -- names -------------------------------------------------------------------------------------------------

    def _of_name(self, expr: ast.Name, at: _At) -> Dtype:
        if expr.id in at.met:  # defined by itself: the other definitions decide
            return Dtype.UNKNOWN if at.assume.unknown_layers_are_half else Dtype.HALF
        bindings, home = self.evaluator.lookup(expr.id, at.frame) or ([], at.frame)
        if home is at.frame:
            if at.assume.unknown_sigmoids_are_half and (found := self._of_last_definitions(expr, at)) is not None:
                return found
            if at.assume.unknown_layers_are_half:
                if self._is_half_by_some_definition(expr, bindings, at):
                    return Dtype.HALF
                at = at.meeting(expr.id)
        return self._of_all_definitions(expr, bindings, at, home)

    def _of_last_definitions(self, expr: ast.Name, at: _At) -> Dtype | None:
        """HALF where a definition that reaches the name is, float32 where all are; None where neither is so."""
        here = f"{expr.id} in line {expr.lineno}"
        if here in at.met:
            return None
        last = reaching(expr.id, expr, at.frame.function) or []
        given = at.frame.arguments.get(expr.id) if any(each.kind == "parameter" for each in last) else None
        passed = [given] if given is not None else []
        defined = [Bound(each.expr, at.frame) for each in last if each.kind == "value" and each.expr is not None]
        at = at.meeting(here)
        found = [self._of(each.expr, at.within(each.frame)) for each in (*defined, *passed)]
        if Dtype.HALF in found:
            return Dtype.HALF
        return Dtype.FLOAT32 if found and len(defined) == len(last) and set(found) <= _WIDE else None

    def _is_half_by_some_definition(self, expr: ast.Name, bindings: list[Binding], at: _At) -> bool:
        reached = reaching(expr.id, expr, at.frame.function) or bindings
        if any(each.kind == "changed" for each in reached):  # it leaves the dtype: what came before decides
            reached = [each for each in bindings if getattr(each.node, "lineno", 0) < expr.lineno]
        at = at.meeting(expr.id)
        return any(self._of(each, at) is Dtype.HALF for each in _values(reached))

    def _of_all_definitions(self, expr: ast.Name, bindings: list[Binding], at: _At, home: Frame) -> Dtype:
        if bindings and all(each.kind in ("value", "changed") and each.expr is not None for each in bindings):
            at = at.meeting(expr.id).within(home)
            made = [self._of(each, at) for each in _values(bindings)]
            if made and all(each is Dtype.HALF for each in made):
                return Dtype.HALF  # `x += y` leaves x the dtype that it has
            found = {self._of(each.expr, at) for each in bindings if each.expr is not None}
            tensors = found - {Dtype.PYTHON_NUMBER}  # `loss = 0` before a loop that adds to it
            return join(tensors) if tensors else Dtype.PYTHON_NUMBER
        if bindings and all(each.kind == "item" and _is_shape(each.expr) for each in bindings):
            return Dtype.PYTHON_NUMBER
        if len(bindings) == 1 and bindings[0].kind == "parameter" and (bound := home.arguments.get(expr.id)):
            return self._of(bound.expr, at.within(bound.frame).deeper())
        return Dtype.PYTHON_NUMBER if re.search(_NUMBERS, expr.id) else Dtype.UNKNOWN

    # -- calls -------------------------------------------------------------------------------------------------

    def _of_call(self, call: ast.Call, at: _At) -> Dtype:
        values = self.evaluator.values(call.func, at.frame)
        if any(self._is_layer(value) for value in values):
            return Dtype.HALF if all(self._is_layer(value) for value in values) else Dtype.UNKNOWN
        if at.assume.unknown_layers_are_half:
            if _is_own_layer(call, values):
                return Dtype.HALF
            if any(isinstance(value, FunctionValue) for value in values):
                return self._returned(call, values, at)
        if at.assume.unknown_sigmoids_are_half and (callees := self.evaluator.callees(call, at.frame)):
            return self._returned(call, callees, at)
        known = next((value.name for value in values if isinstance(value, ExternalName)), "")
        if known.startswith(("math.", "numpy.", "builtins.")):
            return Dtype.PYTHON_NUMBER
        if isinstance(call.func, ast.Attribute) and not known:
            return self._of_method(call, call.func.value, at)
        if known.startswith("torch."):
            return self._by_policy(last_name(call.func), call.args[0] if call.args else None, at)
        return Dtype.UNKNOWN

    def _of_method(self, call: ast.Call, receiver: ast.expr, at: _At) -> Dtype:
        name = last_name(call.func)
        if name in NUMBER_METHODS:
            return Dtype.PYTHON_NUMBER
        return self._by_policy(name, receiver, at)

    def _by_policy(self, name: str, subject: ast.expr | None, at: _At) -> Dtype:
        """The dtype of what an operator of torch gives for a tensor, by autocast's policy."""
        if name in LOWER_PRECISION_OPERATORS:
            return Dtype.HALF
        if name in FLOAT32_OPERATORS:
            return Dtype.FLOAT32
        if name not in DTYPE_PRESERVING_OPERATORS or subject is None:
            return Dtype.UNKNOWN
        dtype = self._of(subject, at)
        if name in _SIGMOIDS and at.assume.unknown_sigmoids_are_half:
            return Dtype.FLOAT32 if dtype in _WIDE or _casts_to_float32(subject) else Dtype.HALF
        return Dtype.UNKNOWN if dtype is Dtype.PYTHON_NUMBER else dtype

    def _is_layer(self, value: Value) -> bool:
        """Whether a module's output is half: a layer, or a sequence of them, but for what keeps the dtype behind it."""
        if not isinstance(value, ExternalResult) or value.name != _SEQUENCE:
            return isinstance(value, ExternalResult) and re.match(_LAYERS, value.name) is not None
        given = [(part, frame) for call, frame in value.calls[:1] for part in call.args]
        for part, frame in reversed(given):
            made = self.evaluator.values(part, frame)
            if not made or not all(isinstance(each, ExternalResult) and re.match(_PASSES, each.name) for each in made):
                return bool(made) and all(self._is_layer(each) for each in made)
        return False

    def _returned(self, call: ast.Call, values: Iterable[Value], at: _At) -> Dtype:
        """HALF where all is that a function of the project, or a module's forward, returns. Its names are its own."""
        found: list[Dtype] = []
        for value in values:
            entered = self.evaluator.enter(value, call, at.frame) if isinstance(value, FunctionValue) else None
            if entered is None or not isinstance(value, FunctionValue):
                return Dtype.UNKNOWN
            inside = _At(entered, at.assume, steps=at.steps + 1)
            found += [self._of(result, inside) for result in value.function.returns]
        return half_or_unknown(join(found))


def _may(branches: Iterable[Dtype]) -> Dtype:
    """HALF where one branch is: the other may be anything."""
    return Dtype.HALF if Dtype.HALF in set(branches) else Dtype.UNKNOWN


def _values(bindings: Iterable[Binding]) -> list[ast.expr]:
    return [each.expr for each in bindings if each.kind == "value" and each.expr is not None]


def _casts_to_float32(expr: ast.expr) -> bool:
    """Whether an expression has a cast to float32 somewhere: `(x.float() - y)`."""
    return any(isinstance(node, ast.Attribute) and node.attr in ("float", "double", "float32") for node in walk(expr))


def _is_own_layer(call: ast.Call, values: Values) -> bool:
    """Whether a call runs an attribute of the module that may be any layer, but for those that give float32."""
    func = call.func
    own = isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == "self"
    known = any(not isinstance(value, Unknown | Object) for value in values)
    return own and not known and not re.search(_LIFTING, last_name(func))


def _is_shape(expr: ast.expr | None) -> bool:
    """Whether an expression is `x.shape` or `x.size()`."""
    return isinstance(expr, ast.Attribute | ast.Call) and last_name(expr) in ("shape", "size")
