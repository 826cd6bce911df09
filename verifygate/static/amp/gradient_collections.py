"""Local names that hold gradients: `norms.append(p.grad)` makes `norms` one, and a norm of it a norm of gradients."""

from __future__ import annotations

import ast

from verifygate.static.symbols.program import Function
from verifygate.static.symbols.scopes import bound_targets
from verifygate.static.syntax.names import last_name

_JOINING = frozenset({"cat", "stack", "concat", "hstack"})


def is_grad(expr: ast.expr) -> bool:
    """`p.grad`, `p.grad.data`, `param.grad.detach()`."""
    while isinstance(expr, ast.Call):
        expr = expr.func
    return isinstance(expr, ast.Attribute) and (expr.attr == "grad" or is_grad(expr.value))


def grad_among(call: ast.Call, gathered: dict[str, ast.expr]) -> ast.expr | None:
    """The `.grad` among the arguments of a call, by itself, in a comprehension or in `torch.cat([...])`."""
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


def grad_held(expr: ast.expr, gathered: dict[str, ast.expr]) -> ast.expr | None:
    """The gradient in `[p.grad for p in ...]`, in a tensor joined of such a list, or in a name for either."""
    match expr:
        case ast.Name(id=name):
            return gathered.get(name)
        case ast.ListComp(elt=item) if is_grad(item) and not _differentiates(item):
            return item
        case ast.Call(func=joins) if last_name(joins) in _JOINING:
            return grad_among(expr, gathered)
    return None


def grad_squared(expr: ast.expr) -> ast.expr | None:
    """The gradient in `p.grad ** 2`, in a comprehension of it, or in a sum."""
    match expr:
        case ast.ListComp(elt=item) | ast.GeneratorExp(elt=item):
            return grad_squared(item)
        case ast.Call(func=ast.Attribute(value=inner, attr="sum")):
            return grad_squared(inner)
        case ast.BinOp(left=left, op=ast.Pow()) if is_grad(left) and not _differentiates(left):
            return left
    return None


class GradientCollections:
    """For each function, the local names that hold gradients."""

    def __init__(self) -> None:
        self._known: dict[Function, dict[str, ast.expr]] = {}

    def by(self, function: Function) -> dict[str, ast.expr]:
        """Name -> the gradient that it holds, as the expression that was put there."""
        if function not in self._known:
            self._known[function] = {}
            if function.module.mentions(b".grad"):
                self._known[function] = _gathered(function)
        return self._known[function]


def _gathered(function: Function) -> dict[str, ast.expr]:
    bound: dict[str, list[ast.expr]] = {}
    for target, binding in bound_targets(function.own_nodes):
        if isinstance(target, ast.Name) and binding.kind == "value" and binding.expr is not None:
            held = bound.setdefault(target.id, [])
            if not _is_empty(binding.expr):
                held.append(binding.expr)
    found: dict[str, ast.expr] = {}
    for call in function.calls:
        match call:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append" | "extend"), args=[item]):
                if is_grad(item) and not _differentiates(item) and not bound.get(name):
                    found.setdefault(name, item)
    before = -1
    while len(found) > before:
        before = len(found)
        for name, exprs in bound.items():
            grads = [grad_held(expr, found) for expr in exprs]
            if grads and grads[0] is not None and None not in grads:  # a name that is used again may hold anything
                found.setdefault(name, grads[0])
    return found


def _is_empty(expr: ast.expr) -> bool:
    """`[]`, `list()` or None: an initial value to which something is added later."""
    match expr:
        case ast.List(elts=[]) | ast.Call(func=ast.Name(id="list"), args=[]) | ast.Constant(value=None):
            return True
    return False


def _differentiates(expr: ast.expr) -> bool:
    """`autograd.grad(...)`: its result was not accumulated by a `backward()`."""
    return isinstance(expr, ast.Call) and last_name(expr.func) == "grad"
