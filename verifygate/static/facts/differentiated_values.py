"""Backward slice of what a function differentiates: the variables that a loss is worked out from."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.base.fixpoint import fixpoint
from verifygate.static.facts.step_tensors import names_in
from verifygate.static.symbols.enclosing import EnclosingNodes
from verifygate.static.symbols.program import Function

_ROOTS = frozenset({"backward", "scale"})


def differentiated_variables(function: Function) -> frozenset[str]:
    """The names that what a backward or a scaler is given was worked out from."""

    def before(name: str) -> Iterator[str]:
        for binding in function.scope.names.get(name, ()):
            if binding.expr is not None:
                yield from names_in(binding.expr)
            if isinstance(binding.node, ast.AugAssign):
                yield from names_in(binding.node.value)

    return frozenset(fixpoint({name for expr in _operands(function) for name in names_in(expr)}, before))


def is_differentiated(expr: ast.expr, function: Function, enclosing: EnclosingNodes) -> bool:
    """Whether an expression is a part of what its function differentiates."""
    variables = differentiated_variables(function)
    operands = set(_operands(function))
    here: ast.AST = expr
    for each in enclosing.around(expr, function):
        if here in operands:
            return True
        if isinstance(each.node, ast.Assign | ast.AugAssign | ast.AnnAssign) and each.part == "value":
            targets = each.node.targets if isinstance(each.node, ast.Assign) else [each.node.target]
            return any(name in variables for target in targets for name in names_in(target))
        if isinstance(each.node, ast.stmt):
            return False
        here = each.node
    return False


def _operands(function: Function) -> Iterator[ast.expr]:
    for call in function.calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr in _ROOTS:
            yield from call.args[:1]
            if call.func.attr == "backward":
                yield call.func.value
