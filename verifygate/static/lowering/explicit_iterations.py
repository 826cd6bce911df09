"""Loops whose iterations are known, each about an optimizer, an object or a function of its own: those are unrolled.

Objects of the project count as they may hold what trains: callbacks in a list, trainers in a dict.
"""

from __future__ import annotations

import ast
from functools import lru_cache

from verifygate.static.amp.roles import Roles
from verifygate.static.syntax.names import simple_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.contents import Row
from verifygate.static.values.domain import Bound, ClassValue, Frame, FunctionValue, Literal, Object

_MAX_WRITTEN = 10
_TAKING = frozenset({"popleft", "pop"})


def explicit_iterations(loop: ast.For | ast.AsyncFor, frame: Frame, roles: Roles) -> list[Row]:
    """The variables of a `for` in each iteration, where it is over a few things that do something, or their keys."""
    rows = roles.evaluator.containers.iterations(loop.target, loop.iter, frame) or []
    if not 1 <= len(rows) <= _MAX_WRITTEN:
        return []
    if any(_act([row[name] for row in rows], roles) for name in rows[0]):
        return rows
    first = frame.in_iteration(loop, 0, rows[0])
    selected = (each for key, each in _selected(loop) if _is_constant(key, first, roles))
    return rows if any(_act([Bound(each, first)], roles) for each in selected) else []


def queue_iterations(loop: ast.While, frame: Frame, roles: Roles) -> list[Row]:
    """What the call that takes an element out of a queue gives in each iteration: `while todo: todo.popleft()()`."""
    match loop.test:
        case ast.Call(func=ast.Name(id="len"), args=[queue]):
            pass
        case ast.Compare(left=ast.Call(func=ast.Name(id="len"), args=[queue]), ops=[ast.Gt()]):
            pass
        case queue:
            pass
    if not isinstance(queue, ast.Name | ast.Attribute):
        return []
    text = ast.unparse(queue)
    taken = [
        node
        for node in walk(loop.body[0])
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _TAKING
        and ast.unparse(node.func.value) == text
    ]
    if len(taken) != 1 or not isinstance(loop.body[0], ast.Expr | ast.Assign):
        return []
    (call,) = taken
    held = roles.evaluator.containers.before(queue, frame, call)
    if held is None or held.keys is not None or not 1 <= len(held.elements) <= _MAX_WRITTEN:
        return []
    is_last = call.func.attr == "pop" and not call.args  # type: ignore[attr-defined]
    elements = held.elements[::-1] if is_last else held.elements
    rows: list[Row] = [{call: each} for each in elements]
    return rows if _act(list(elements), roles) else []


def _is_constant(key: ast.expr, frame: Frame, roles: Roles) -> bool:
    values = roles.evaluator.values(key, frame)
    return len(values) == 1 and isinstance(values[0], Literal)


def _act(elements: list[Bound], roles: Roles) -> bool:
    """Whether all of them are optimizers, objects of the project, functions, or containers of such."""
    if all(roles.is_optimizer(each.expr, each.frame) for each in elements):
        return True
    return all(_acts(each, roles) or _holds_what_acts(each, roles) for each in elements)


def _acts(each: Bound, roles: Roles) -> bool:
    values = roles.evaluator.values(each.expr, each.frame)
    if values and all(isinstance(value, ClassValue | FunctionValue | Object) for value in values):
        return True
    return roles.evaluator.is_method(each.expr, each.frame)


def _holds_what_acts(container: Bound, roles: Roles) -> bool:
    held = roles.evaluator.containers.of(container.expr, container.frame)
    return held is not None and any(
        roles.is_optimizer(each.expr, each.frame) or _acts(each, roles) for each in held.elements
    )


@lru_cache(maxsize=128)
def _selected(loop: ast.For | ast.AsyncFor) -> list[tuple[ast.expr, ast.expr]]:
    """Key, and what the body of a loop selects by it, where its variables are in the key.

    `opts[name]`, `getattr(callback, f"on_{event}")`.
    """
    names = {part.id for part in walk(loop.target) if isinstance(part, ast.Name)}
    found: list[tuple[ast.expr, ast.expr]] = []
    for statement in loop.body:
        for node in walk(statement):
            match node:
                case ast.Subscript(slice=key):
                    pass
                case ast.Call(args=[_, key, *_]) if simple_name(node.func) == "getattr":
                    pass
                case _:
                    continue
            if any(isinstance(part, ast.Name) and part.id in names for part in walk(key)):
                found.append((key, node))
    return found
