"""Which expressions are half precision inside a CUDA autocast region, by the operator policy of autocast.

Products of matrices and convolutions come out half; element-wise operators keep what they are given; softmax, log,
exp, pow, sums, norms and losses come out float32. What depends on the caller is unknown, and counts as not half.
"""

from __future__ import annotations

import ast
import re

from verifygate.static.program import Function
from verifygate.static.roles import Roles, last_name
from verifygate.static.syntax import walk
from verifygate.static.values import Frame, Known, Literal, Made

LARGEST = 65504.0
SMALLEST = 2.98e-8
"""What is not larger than half of the smallest subnormal rounds to zero."""

_PRODUCTS = frozenset(
    """matmul mm bmm addmm baddbmm addbmm einsum linear bilinear mv chain_matmul scaled_dot_product_attention
    conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d""".split()  # noqa: SIM905
)
_LAYERS = re.compile(r"^torch\.nn\.(Linear|Bilinear|Conv\w+|LazyLinear|LazyConv\w+)$")
_KEEPS = frozenset(
    """sigmoid tanh relu relu_ gelu silu leaky_relu hardtanh mean view reshape transpose permute squeeze unsqueeze
    flatten contiguous clone detach abs chunk split repeat expand masked_fill masked_fill_ masked_select gather
    index_select clamp clamp_ clamp_min dropout t flip roll neg sort topk max min amax amin div mul sub add div_ mul_
    sub_ add_""".split()  # noqa: SIM905
)
_NUMBERS = re.compile(r"scal|temp|sqrt|dim|d_k|norm_fact|alpha|coef|lambda", re.IGNORECASE)
_MAX_STEPS = 12


class Halves:
    def __init__(self, roles: Roles) -> None:
        self.roles = roles
        self.evaluator = roles.evaluator

    def is_half(self, expr: ast.expr, function: Function, *, squashed: bool = False) -> bool:
        """Whether `expr` is half inside the region. `squashed` also takes a sigmoid of what is not known."""
        frame = self.evaluator.root_frame(function)
        return self._half(expr, frame, squashed, frozenset(), 0) is True

    def _half(self, expr: ast.expr, frame: Frame, squashed: bool, met: frozenset[str], steps: int) -> bool | None:
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
                return None if self.number(expr, frame) is not None else False
            case ast.BinOp():
                sides = [self._half(side, frame, squashed, met, deeper) for side in (expr.left, expr.right)]
                return False if False in sides else (True if True in sides else None)
            case ast.UnaryOp():
                return self._half(expr.operand, frame, squashed, met, deeper)
            case ast.Subscript():
                return self._half(expr.value, frame, squashed, met, deeper) is True
            case ast.Call():
                return self._call(expr, frame, squashed, met, deeper)
            case ast.Name() if expr.id in met:
                return True  # bound to something made of itself: the other bindings decide
            case ast.Name():
                return self._name(expr, frame, squashed, met, deeper)
            case ast.Attribute():
                return None if _NUMBERS.search(expr.attr) else False
        return False

    def _name(self, expr: ast.Name, frame: Frame, squashed: bool, met: frozenset[str], steps: int) -> bool | None:
        bindings, home = self.evaluator.lookup(expr.id, frame) or ([], frame)
        if bindings and all(each.kind in ("value", "changed") and each.expr is not None for each in bindings):
            met = met | {expr.id}
            found = [self._half(each.expr, home, squashed, met, steps) for each in bindings if each.expr is not None]
            return False if False in found else (True if True in found else None)
        return None if _NUMBERS.search(expr.id) else False

    def _call(self, call: ast.Call, frame: Frame, squashed: bool, met: frozenset[str], steps: int) -> bool | None:
        name = last_name(call.func)
        values = self.evaluator.values(call.func, frame)
        if any(isinstance(value, Made) and _LAYERS.match(value.name) for value in values):
            return all(isinstance(value, Made) and bool(_LAYERS.match(value.name)) for value in values)
        known = next((value.name for value in values if isinstance(value, Known)), "")
        if known.startswith(("math.", "numpy.", "builtins.")):
            return None
        is_method = isinstance(call.func, ast.Attribute) and not known
        if not is_method and not known.startswith("torch."):
            return False
        if name in _PRODUCTS:
            return True
        subject = call.func.value if is_method else (call.args[0] if call.args else None)  # type: ignore[attr-defined]
        if name not in _KEEPS or subject is None:
            return False
        if name == "sigmoid" and squashed and not self._is_lifted(subject):
            return True
        return self._half(subject, frame, squashed, met, steps) is True

    @staticmethod
    def _is_lifted(expr: ast.expr) -> bool:
        """Whether an expression asks for float32 itself."""
        return any(
            isinstance(node, ast.Attribute) and node.attr in ("float", "double", "float32") for node in walk(expr)
        )

    def number(self, expr: ast.expr | None, frame: Frame) -> float | None:
        """The number that an expression is, where the source says it."""
        match expr:
            case None:
                return None
            case ast.Constant(value=bool()):
                return None
            case ast.Constant(value=int() | float() as value):
                return float(value)
            case ast.UnaryOp(op=ast.USub()):
                inner = self.number(expr.operand, frame)
                return None if inner is None else -inner
            case ast.BinOp():
                left, right = self.number(expr.left, frame), self.number(expr.right, frame)
                return None if left is None or right is None else _computed(expr.op, left, right)
            case ast.Name():
                bindings, home = self.evaluator.lookup(expr.id, frame) or ([], frame)
                if len(bindings) == 1 and bindings[0].kind == "value" and bindings[0].expr is not expr:
                    return self.number(bindings[0].expr, home)
        values = self.evaluator.values(expr, frame)
        only = next(iter(values)) if len(values) == 1 else None
        is_number = (
            isinstance(only, Literal) and isinstance(only.value, int | float) and not isinstance(only.value, bool)
        )
        return float(only.value) if is_number else None  # type: ignore[union-attr, arg-type]


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
