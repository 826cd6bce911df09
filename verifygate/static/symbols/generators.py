"""Summarise a call of a function: what it returns, what a generator yields, what a context manager enters."""

from __future__ import annotations

import ast

from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import simple_name
from verifygate.static.syntax.traversal import walk

_MANAGERS = frozenset({"contextmanager", "asynccontextmanager"})


def is_manager(function: Function) -> bool:
    """Whether it is a generator that a decorator makes a context manager of."""
    decorators = getattr(function.node, "decorator_list", ())
    return function.is_generator and any(simple_name(each) in _MANAGERS for each in decorators)


def handed_back(function: Function) -> list[ast.expr]:
    """What it returns; of a generator that only hands on the items of something, as for ever again, that something.

    Of a context manager, the contexts around its `yield`: to enter it is to enter those.
    """
    if not function.is_generator:
        return function.returns
    if is_manager(function):
        entered = [each for each in function.withs if any(isinstance(inner, ast.Yield) for inner in walk(each))]
        return [item.context_expr for each in entered for item in each.items]
    sources = [each.value for each in function.of_kind(ast.YieldFrom)]
    for each in function.of_kind(ast.Yield):
        if (source := _source(each.value, function)) is None:
            return []
        sources.append(source)
    return sources


def _source(item: ast.expr | None, function: Function) -> ast.expr | None:
    """Where an item comes from: what the loop goes over whose variable it is, or what `next` draws it from."""
    match item:
        case ast.Call(args=[drawn_from, *_]) if simple_name(item.func) == "next":
            return drawn_from
        case ast.Name(id=name):
            loops = [each for each in function.loops if not isinstance(each, ast.While)]
            over = [each.iter for each in loops if isinstance(each.target, ast.Name) and each.target.id == name]
            bound = function.scope.names.get(name, ())
            if len(over) == len(bound) == 1:
                return over[0]
            drawn = [each.expr for each in bound if isinstance(each.expr, ast.Call)]
            if drawn and len(drawn) == len(bound) and all(simple_name(each.func) == "next" for each in drawn):
                return drawn[0].args[0] if drawn[0].args else None
    return None
