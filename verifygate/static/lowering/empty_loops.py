"""Loops that have no iteration as the call at hand enters their function: over a list that this call leaves empty.

`names = []`, `if given is not None: names = given`, and nothing is given. Only where the function does nothing else
with the name than to loop over it: else something may be put in.
"""

from __future__ import annotations

import ast

from verifygate.static.amp.roles import Roles
from verifygate.static.symbols.scopes import Binding
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import Frame


def is_without_iterations(loop: ast.For | ast.AsyncFor, frame: Frame, roles: Roles) -> bool:
    """Whether a loop is over what is surely empty, whichever way its name is bound."""
    if not isinstance(loop.iter, ast.Name) or frame.caller is None:
        return False
    name, function = loop.iter.id, frame.function
    bindings = function.scope.names.get(name, [])
    reads = [each for each in function.own_nodes if isinstance(each, ast.Name) and each.id == name]
    loops: list[ast.For | ast.AsyncFor] = [*function.of_kind(ast.For), *function.of_kind(ast.AsyncFor)]
    iterated = {each.iter for each in loops}
    if not bindings or any(isinstance(each.ctx, ast.Load) and each not in iterated for each in reads):
        return False
    inside = any(each.enclosing is function for each in function.module.functions.values())
    inside = inside or bool(function.of_kind(ast.Lambda))
    return not inside and all(_gives_nothing(each, frame, roles) for each in bindings)


def _gives_nothing(binding: Binding, frame: Frame, roles: Roles) -> bool:
    """Whether a binding gives a name an empty container, or is never run."""
    if binding.kind == "parameter":
        given = roles.evaluator.passed(binding.node.arg, frame)  # type: ignore[attr-defined]
        return bool(given) and all(_is_empty(each.expr) for each in given)
    if _is_never_run(binding.node, frame, roles):
        return True
    has_other_names = isinstance(binding.node, ast.Assign) and len(binding.node.targets) > 1
    is_value = binding.kind == "value" and binding.expr is not None and not has_other_names
    return is_value and _is_empty(binding.expr)  # type: ignore[arg-type]


def _is_empty(expr: ast.expr) -> bool:
    match expr:
        case ast.List(elts=[]) | ast.Tuple(elts=[]) | ast.Dict(keys=[]):
            return True
        case ast.Call(func=ast.Name(id="list" | "tuple" | "dict" | "set"), args=[], keywords=[]):
            return True
    return False


def _is_never_run(statement: ast.AST, frame: Frame, roles: Roles) -> bool:
    """Whether a condition around a statement comes out otherwise each time, as the call at hand enters the function."""
    for branch in frame.function.of_kind(ast.If):
        truth = roles.evaluator.truth(branch.test, frame)
        skipped = [] if truth is None else branch.orelse if truth else branch.body
        if any(node is statement for each in skipped for node in walk(each)):
            return True
    return False
