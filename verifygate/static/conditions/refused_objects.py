"""Attributes that are None in every object of a class, because its set-up raises where something was put there.

`super().configure(options)`, then `if self.scaler is not None: raise RuntimeError(...)`, and only `configure` sets it.
"""

from __future__ import annotations

import ast

from verifygate.static.symbols.program import Class, Function
from verifygate.static.syntax.names import last_name
from verifygate.static.values.evaluator import Evaluator


def refuses(made: Class, attribute: str, evaluator: Evaluator) -> bool:
    """Whether an object of the class, or of one below it, that has something else than None there is never set up."""
    line = evaluator.linearised(made)
    checks = [method for each in line for method in each.methods.values() if _raises_for(attribute, method)]
    setters = [
        owner
        for each in dict.fromkeys((*line, *evaluator.below(made)))
        for binding, owner in each.attributes.get(attribute, ())
        if not (isinstance(binding.expr, ast.Constant) and binding.expr.value is None)
    ]
    return bool(setters) and all(
        owner is not None and any(_is_checked_by(owner, check, made, evaluator) for check in checks)
        for owner in setters
    )


def _is_checked_by(setter: Function, check: Function, made: Class, evaluator: Evaluator) -> bool:
    """Whether the method that sets the attribute runs only inside the one that checks it, in every such object."""
    if setter is check or setter.name != check.name or check.owner is None or setter.owner is None:
        return False
    if setter.owner not in evaluator.linearised(check.owner):
        return False
    below = evaluator.below(made)
    between = [each for each in below if check.name in each.methods and each.methods[check.name] is not check]
    return not between and any(
        isinstance(call.func, ast.Attribute) and call.func.attr == check.name and _is_super(call.func.value)
        for call in check.calls
    )


def _is_super(expr: ast.expr) -> bool:
    return isinstance(expr, ast.Call) and last_name(expr.func) == "super"


def _raises_for(attribute: str, method: Function) -> bool:
    """Whether a method raises, behind all else that it does, where its object has something in the attribute."""
    last = method.node.body[-1]
    if not (isinstance(last, ast.If) and isinstance(last.body[-1], ast.Raise) and method.parameters):
        return False
    match last.test:
        case ast.Compare(left=asked, ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]) | (
            ast.Attribute() as asked
        ):
            return ast.unparse(asked) == f"{method.parameters[0].arg}.{attribute}"
    return False
