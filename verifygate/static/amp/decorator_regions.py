"""Autocast regions that decorators of the project open around the functions they decorate.

def in_half(function):
    @functools.wraps(function)
    def inside(*args, **options):
        with torch.autocast("cuda"):
            return function(*args, **options)
    return inside
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.static.amp.roles import Region, Roles
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import FunctionValue


def decorators(function: Function, roles: Roles) -> Iterator[tuple[ast.expr, Function]]:
    """The project's functions among the decorators of a function, each with the expression of the decorator."""
    frame = roles.evaluator.module_frame(function.module)
    for decorator in getattr(function.node, "decorator_list", ()):
        for value in roles.evaluator.values(decorator, frame):
            if isinstance(value, FunctionValue):
                yield decorator, value.function


def around(function: Function, roles: Roles) -> Iterator[tuple[ast.expr, Region]]:
    """The regions, or islands, in which a decorator of the project calls the function on every path."""
    for decorator, outer in decorators(function, roles):
        given = {each.arg for each in outer.parameters}
        inner = [each for each in outer.module.beside(outer) if each.enclosing is outer] if given else []
        for each in inner:
            chosen = {below for node in each.of_kind(ast.If) for below in walk(node)}
            for node in each.withs:
                if node not in chosen and any(
                    isinstance(call.func, ast.Name) and call.func.id in given for call in _calls(node)
                ):
                    frame = roles.evaluator.root_frame(each)
                    found = (roles.region(item.context_expr, frame) for item in node.items)
                    yield from ((decorator, region) for region in found if region is not None)


def _calls(node: ast.With | ast.AsyncWith) -> list[ast.Call]:
    return [each for statement in node.body for each in walk(statement) if isinstance(each, ast.Call)]
