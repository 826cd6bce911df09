"""Constant folding of numbers: `1 - 1e-6`, `self.eps` where its class sets it once, `EPS = 10.0**-8`."""

from __future__ import annotations

import ast
from collections.abc import Hashable
from functools import partial

from verifygate.static.symbols.scopes import Binding
from verifygate.static.values.domain import ClassValue, ExternalName, Frame, Literal, Object
from verifygate.static.values.evaluator import Evaluator

_LIMITS = {
    dtype: {"max": largest, "min": -largest, "eps": step, "tiny": smallest, "smallest_normal": smallest}
    for names, largest, step, smallest in (
        ("float16 half", 65504.0, 2.0**-10, 2.0**-14),
        ("bfloat16", (2 - 2.0**-7) * 2.0**127, 2.0**-7, 2.0**-126),
        ("float32 float single", (2 - 2.0**-23) * 2.0**127, 2.0**-23, 2.0**-126),
        ("float64 double", (2 - 2.0**-52) * 2.0**1023, 2.0**-52, 2.0**-1022),
    )
    for dtype in names.split()
}
"""Dtype -> the attributes of `torch.finfo`."""


class Constants:
    """Folds expressions of one set of modules."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self._bound: dict[Hashable, float | None] = {}
        """What a name or an attribute is bound to, and the frame of that -> the number that it is."""

    def number(self, expr: ast.expr | None, frame: Frame) -> float | None:
        """The number that an expression is; None where the source does not say it, or defines it by itself."""
        match expr:
            case None | ast.Constant(value=bool()):
                return None
            case ast.Constant(value=int() | float() as value):
                return float(value)
            case ast.UnaryOp(op=ast.USub()):
                inner = self.number(expr.operand, frame)
                return None if inner is None else -inner
            case ast.Call(func=ast.Name(id="float" | "int"), args=[given]):
                return self.number(given, frame)
            case ast.BinOp():
                left, right = self.number(expr.left, frame), self.number(expr.right, frame)
                return None if left is None or right is None else _folded(expr.op, left, right)
            case ast.Name():
                bindings, home = self.evaluator.lookup(expr.id, frame) or ([], frame)
                if len(bindings) == 1 and bindings[0].kind == "value":
                    return self._bound_to(bindings[0], home)
            case ast.Attribute(value=ast.Call() as call) if (
                limit := self._of_type(call, expr.attr, frame)
            ) is not None:
                return limit
            case ast.Attribute():
                if found := self._of_attribute(expr, frame):
                    return found.pop() if len(found) == 1 else None
        return self._evaluated(expr, frame)

    def _of_type(self, call: ast.Call, limit: str, frame: Frame) -> float | None:
        """A limit of a dtype that the source says: `torch.finfo(torch.float32).min`."""
        names = {each.name for each in self.evaluator.values(call.func, frame) if isinstance(each, ExternalName)}
        if names not in ({"torch.finfo"}, {"numpy.finfo"}) or len(call.args) + len(call.keywords) > 1:
            return None
        given = [*call.args, *(word.value for word in call.keywords)]
        match self.evaluator.values(given[0], frame) if given else (ExternalName("torch.float32"),):
            case (ExternalName(name=name),):
                return _LIMITS.get(name.rpartition(".")[2], {}).get(limit)
        return None

    def _evaluated(self, expr: ast.expr, frame: Frame) -> float | None:
        """The number that the evaluator finds, if it finds nothing else."""
        match self.evaluator.values(expr, frame):
            case (Literal(value=int() | float() as value),) if not isinstance(value, bool):
                return float(value)
        return None

    def _of_attribute(self, expr: ast.Attribute, frame: Frame) -> set[float | None]:
        """What an attribute is in the classes that its object may be of, where it is assigned once."""
        found: set[float | None] = set()
        for value in self.evaluator.values(expr.value, frame):
            if isinstance(value, Object | ClassValue) and expr.attr not in value.made.fields:  # a record's are passed
                bound = list(self.evaluator.hierarchy.bindings(value, expr, frame))
                if len(bound) == 1 and bound[0][0].kind == "value":
                    binding, owner, made, _ = bound[0]
                    home = self.evaluator.root_frame(owner) if owner else self.evaluator.module_frame(made.module)
                    found.add(self._bound_to(binding, home))
        return found

    def _bound_to(self, binding: Binding, home: Frame) -> float | None:
        if binding.expr is None:
            return None
        find = partial(self.number, binding.expr, home)
        return self.evaluator.demand.kept(self._bound, (binding.expr, home), "number", find, None)


def _folded(op: ast.operator, left: float, right: float) -> float | None:
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
