"""Classify what a program writes into `.grad` by hand: a zero_grad, a clip, noise, or gradients of another origin."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from verifygate import torch_names
from verifygate.protocol import Event
from verifygate.static.amp.functional_gradients import differentiates_unscaled, is_unscaled_gradient
from verifygate.static.amp.gradient_collections import is_grad
from verifygate.static.amp.roles import identifiers
from verifygate.static.amp.scale_flow import ScaleFlow
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.container_methods import PUT
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import children, is_none, walk
from verifygate.static.values.domain import Frame

_WEIGHTS = frozenset({"parameters", "named_parameters", "state_dict", "data"})
_GIVE_GRADIENTS = frozenset(
    {"grad", "grad_and_value", "vjp", "jacrev", "jacfwd", "backward", "all_reduce", "load", "pop"}
)
_FILLS = frozenset({"zeros_like", "zeros", "full_like", "ones_like"})


def meaning_of_write(
    target: ast.expr, value: ast.expr | None, frame: Frame, scaling: ScaleFlow, *, augments: bool, guarded: bool
) -> Event | None:
    """What assigning a value to a target means for the gradients it holds; None for no event, as of `p.grad /= n`.

    `guarded`: only where a check for inf and NaN strikes.
    """
    if value is not None and is_grad(target) and is_noise(value) and (augments or speaks_of_grad(value)):
        return Event.READ
    if isinstance(target, ast.Subscript) and is_grad(target.value) and speaks_of_grad(target.slice):
        return Event.CLIP
    if not (isinstance(target, ast.Attribute) and target.attr == "grad") or value is None:
        return None
    if is_none(value):
        return None if is_of_one(target) else Event.ZERO_GRAD
    if augments:
        return None
    if speaks_of_grad(value):
        is_filled = isinstance(value, ast.Call) and last_name(value.func) in _FILLS
        return Event.CLIP if (is_filled and guarded) or is_limited(value, frame) else None
    written = list(_definitions(value, frame, scaling))
    if scaling.reaches_scale(value, frame) or not all(_is_without_gradient(each, frame, scaling) for each in written):
        return Event.ASSIGN
    return Event.WRITE


def is_limited(value: ast.expr, frame: Frame) -> bool:
    """Whether the size of a gradient decides what it is replaced by: `torch.where(norm < limit, p.grad, clipped)`.

    A call that is an event by itself, as `torch.clamp(p.grad)`, is not counted a second time.
    """
    for node in walk(value):
        match node:
            case ast.Call(func=func, args=[test, *_]) if last_name(func) == "where" and not speaks_of_grad(test):
                return _size_decides(test, frame)
    return False


def _size_decides(test: ast.expr, frame: Frame) -> bool:
    """Whether a test compares the size of a gradient with something that has no scale, or asks for inf and NaN."""
    if any(word in ast.unparse(test) for word in torch_names.FINITE_WORDS):
        return True
    compares = [node for node in walk(test) if isinstance(node, ast.Compare) and len(node.comparators) == 1]
    for each in compares:
        sides = (each.left, each.comparators[0])
        of_grad = [any(map(speaks_of_grad, (side, *_definitions(side, frame)))) for side in sides]
        if sum(of_grad) == 1 and not _is_zero(sides[of_grad.index(False)]):
            return True
    return False


def _is_zero(expr: ast.expr) -> bool:
    return isinstance(expr, ast.Constant) and expr.value == 0


def speaks_of_grad(expr: ast.expr) -> bool:
    return any(isinstance(node, ast.Attribute) and node.attr == "grad" for node in walk(expr))


def is_noise(expr: ast.expr) -> bool:
    return any(
        isinstance(node, ast.Call) and last_name(node.func) in ("randn_like", "randn", "rand_like", "rand", "normal")
        for node in walk(expr)
    )


def is_of_one(grad: ast.expr) -> bool:
    """Whether a gradient is that of one parameter, known by its path: `self.codes.grad.zero_()` holds that one still.

    A name may be the variable of a loop over all of them.
    """
    held = [node.value for node in walk(grad) if isinstance(node, ast.Attribute) and node.attr == "grad"]
    return bool(held) and all(isinstance(each, ast.Attribute) for each in held)


def names_in(target: ast.expr) -> frozenset[str]:
    """Names that suggest whose gradients a target holds."""
    return identifiers(target.value if isinstance(target, ast.Subscript | ast.Attribute) else target)


def _definitions(expr: ast.expr, frame: Frame, scaling: ScaleFlow | None = None) -> Iterator[ast.expr]:
    """An expression, and all that defines the local names in it, and so on; not what `torch.func` differentiates."""
    queue: list[ast.AST] = [expr]
    seen = set[str]()
    yield expr
    while queue:
        node = queue.pop()
        if isinstance(node, ast.Attribute) and node.attr in _WEIGHTS and not speaks_of_grad(node):
            continue  # weights, or a copy of them
        if scaling is not None and isinstance(node, ast.Call) and is_unscaled_gradient(node, frame, scaling):
            continue
        if isinstance(node, ast.Name) and node.id not in seen:
            seen.add(node.id)
            bound = frame.function.scope.names.get(node.id, ())
            exprs = [each.expr for each in bound if each.expr is not None]
            yield from exprs
            queue += exprs
            if any(each.kind == "parameter" for each in bound) or node.id in _filled(frame.function):
                yield ast.Name(node.id, ast.Load())
        queue += children(node)


@lru_cache(maxsize=256)
def _filled(function: Function) -> frozenset[str]:
    """The local names of containers that a function fills after it has made them."""
    found = set()
    for node in function.own_nodes:
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)) if method in PUT:
                found.add(name)
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store()):
                found.add(name)
    return frozenset(found)


def _is_without_gradient(definition: ast.expr, frame: Frame, scaling: ScaleFlow) -> bool:
    """Whether no gradient of a scaled loss, none that was kept, and no unknown argument is in what a name was given."""
    if isinstance(definition, ast.Name) and not hasattr(definition, "lineno"):
        return False  # a parameter, or a container that is filled: whatever is put there
    calls = [node for node in walk(definition) if isinstance(node, ast.Call)]
    fresh = {
        each
        for each in calls
        if is_unscaled_gradient(each, frame, scaling) or differentiates_unscaled(each, frame, scaling)
    }
    words = {last_name(each.func) for each in calls if each not in fresh}
    makers = {each.func for each in fresh}
    kept = any(
        isinstance(node, ast.Attribute) and node.attr == "grad" and node not in makers for node in walk(definition)
    )
    return not kept and not words & _GIVE_GRADIENTS
