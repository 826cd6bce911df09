"""What a call of a function is as good as: what it returns, or what a generator hands on item by item."""

from __future__ import annotations

import ast

from verifygate.static.program import Function, simple_name


def handed_back(function: Function) -> list[ast.expr]:
    """What it returns; of a generator that only hands on the items of something, as for ever again, that something."""
    if not function.is_generator:
        return function.returns
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
