"""Lists that are added to after they are written out: their elements are not those of the display alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.static.facts.dict_writes import READERS
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.container_methods import PUT_ALL, PUT_ONE
from verifygate.static.syntax.names import last_name
from verifygate.static.values.domain import Items


def is_grown(items: Items) -> bool:
    """Whether the function that binds a list display to a name, or the class of its attribute, adds more to it."""
    function = items.frame.function
    names = {ast.unparse(target) for target in _targets(items, function)}
    return bool(names) and any(each in names for home in _homes(function) for each in _added_to(home))


def _targets(items: Items, function: Function) -> Iterator[ast.expr]:
    """What is bound to the display: an empty one is told by nothing but being empty."""
    bound = [(node.targets, node.value) for node in function.of_kind(ast.Assign)]
    bound += [([node.target], node.value) for node in function.of_kind(ast.AnnAssign) if node.value is not None]
    for targets, value in bound:
        if isinstance(value, ast.List) and tuple(value.elts) == items.elements:
            yield from targets


def _homes(function: Function) -> Iterator[Function]:
    """The functions in which the same name means the same list."""
    yield function
    for other in function.module.beside(function) if function.symbol else ():
        if other is not function and (other.enclosing is function or other.owner is function.owner is not None):
            yield other


def _added_to(function: Function) -> Iterator[str]:
    """What elements are added to, or handed over to a function that may do so."""
    for node in function.own_nodes:
        match node:
            case ast.AugAssign(op=ast.Add()):
                yield ast.unparse(node.target)
            case ast.Call(func=ast.Attribute(value=grown, attr=attr)) if attr in PUT_ONE | PUT_ALL:
                yield ast.unparse(grown)
            case ast.Call() if last_name(node.func) not in READERS:
                yield from (ast.unparse(each) for each in node.args if isinstance(each, ast.Name | ast.Attribute))
