"""Lists and tensors into which a function puts gradients: measuring one of them measures the gradients."""

from __future__ import annotations

import ast

from verifygate.static.program import Function
from verifygate.static.roles import last_name
from verifygate.static.scopes import bound_targets

_JOINING = frozenset({"cat", "stack", "concat", "hstack"})


def is_grad(expr: ast.expr) -> bool:
    """`p.grad`, `p.grad.data`, `param.grad.detach()`."""
    while isinstance(expr, ast.Call):
        expr = expr.func
    return isinstance(expr, ast.Attribute) and (expr.attr == "grad" or is_grad(expr.value))


def grad_among(call: ast.Call, gathered: dict[str, ast.expr]) -> ast.expr | None:
    """The `.grad` among the arguments of a call that measures or records it, bare or put together with others."""
    for argument in (*call.args, *(word.value for word in call.keywords)):
        inner = argument.elt if isinstance(argument, ast.ListComp | ast.GeneratorExp) else argument
        for each in (argument, inner):
            if is_grad(each):
                return each
        if isinstance(inner, ast.Name) and inner.id in gathered:
            return gathered[inner.id]
        if isinstance(inner, ast.Call) and last_name(inner.func) in _JOINING:
            return grad_among(inner, gathered)
    return None


class Gathered:
    """Finds, for each function, the names of its own that hold gradients."""

    def __init__(self) -> None:
        self._known: dict[Function, dict[str, ast.expr]] = {}

    def by(self, function: Function) -> dict[str, ast.expr]:
        """Name -> the gradient that is in it, as it is written where it is put there."""
        if function not in self._known:
            self._known[function] = {}
            if function.module.mentions(b".grad"):
                self._known[function] = _gathered(function)
        return self._known[function]


def _gathered(function: Function) -> dict[str, ast.expr]:
    found: dict[str, ast.expr] = {}
    for call in function.calls:
        match call:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append" | "extend"), args=[item]):
                if is_grad(item) and not _differentiates(item):
                    found.setdefault(name, item)
    bound = [
        (target.id, binding.expr)
        for target, binding in bound_targets(function.own_nodes)
        if isinstance(target, ast.Name) and binding.kind == "value" and binding.expr is not None
    ]
    before = -1
    while len(found) > before:
        before = len(found)
        for name, expr in bound:
            if isinstance(expr, ast.ListComp) and is_grad(expr.elt) and not _differentiates(expr.elt):
                found.setdefault(name, expr.elt)
            joins = isinstance(expr, ast.Call) and last_name(expr.func) in _JOINING
            if joins and (grad := grad_among(expr, found)) is not None:  # type: ignore[arg-type]
                found.setdefault(name, grad)
    return found


def _differentiates(expr: ast.expr) -> bool:
    """`autograd.grad(...)`: what it gives was not left by a backward."""
    return isinstance(expr, ast.Call) and last_name(expr.func) == "grad"
