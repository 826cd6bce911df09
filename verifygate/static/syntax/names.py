"""Names in syntax: the last name of a dotted expression."""

from __future__ import annotations

import ast


def last_name(expr: ast.expr) -> str:
    """The last name in a dotted expression: `optimizer` of `self.optimizer`, `optims` of `optims[0]`."""
    match expr:
        case ast.Attribute():
            return expr.attr
        case ast.Name():
            return expr.id
        case ast.Subscript(slice=ast.Constant(value=str(key))) if last_name(expr.value) in ("self", "state"):
            return key
        case ast.Subscript(slice=ast.Constant(value=str(key))):
            return f"{last_name(expr.value)}_{key}"
        case ast.Subscript():
            return last_name(expr.value)
        case ast.Call():
            return last_name(expr.func)
    return ""


def simple_name(node: ast.expr) -> str:
    """The last name of a dotted name; empty for any other expression."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def turns_gradients_off(call: ast.Call) -> bool:
    """Whether it is `x.requires_grad_(False)`, with the flag by its place or by its name."""
    given = [*call.args[:1], *(word.value for word in call.keywords if word.arg == "requires_grad")]
    off = any(isinstance(each, ast.Constant) and each.value is False for each in given)
    return off and isinstance(call.func, ast.Attribute) and call.func.attr == "requires_grad_"
