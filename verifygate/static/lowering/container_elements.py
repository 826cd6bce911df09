"""Elements of a container that is written out: the iterations of a loop over one are known, and which object each has.

A container counts as written out where one display is its only value and nothing in its module adds to it.
"""

from __future__ import annotations

import ast
from functools import lru_cache

from verifygate.static.amp.roles import Roles
from verifygate.static.symbols.program import Module
from verifygate.static.syntax.names import last_name
from verifygate.static.values.domain import Bound, DictLiteral, Frame, Items, Unknown

_NAMED = ast.Name | ast.Attribute | ast.Subscript
_MUTATORS = frozenset(
    {"append", "extend", "insert", "remove", "pop", "clear", "update", "setdefault", "popitem", "reverse", "sort"}
)


def sequence_elements(source: ast.expr, frame: Frame, roles: Roles) -> list[Bound]:
    """What a loop over a list or a tuple, or over the values of a dict, gets in each iteration; empty where unknown."""
    match source:
        case ast.List() | ast.Tuple():
            return [Bound(each, frame) for each in source.elts] if _whole(source.elts) else []
        case ast.Call(func=ast.Attribute(value=holder, attr="values"), args=[]):
            return [element for _, element in mapping_elements(holder, frame, roles)]
        case ast.Call(func=ast.Name(id="list" | "tuple" | "reversed" | "iter"), args=[inner]):
            elements = sequence_elements(inner, frame, roles)
            return elements[::-1] if source.func.id == "reversed" else elements  # type: ignore[attr-defined]
    display = _only_display(source, frame, roles)
    if not isinstance(display, Items) or not _whole(display.elements):
        return []
    return [
        Bound(each, display.frame) if isinstance(each, _NAMED) else _element_at(source, index, frame)
        for index, each in enumerate(display.elements)
    ]


def mapping_elements(holder: ast.expr, frame: Frame, roles: Roles) -> list[tuple[Bound, Bound]]:
    """The keys and the values of a dict, in order; empty where they are not known."""
    display = holder if isinstance(holder, ast.Dict) else _only_display(holder, frame, roles)
    if isinstance(display, ast.Dict):
        display = DictLiteral(display, frame)
    if not isinstance(display, DictLiteral):
        return []
    node = display.node
    if isinstance(node, ast.Call):
        pairs = [(ast.Constant(word.arg), word.value) for word in node.keywords if word.arg is not None]
        pairs = pairs if len(pairs) == len(node.keywords) and not node.args else []
    else:
        written = zip(node.keys, node.values, strict=True)
        pairs = [(key, value) for key, value in written if isinstance(key, ast.Constant)]
        pairs = pairs if len(pairs) == len(node.values) else []
    return [
        (
            Bound(ast.copy_location(ast.Constant(key.value), holder), frame),
            Bound(value, display.frame) if isinstance(value, _NAMED) else _element_at(holder, key.value, frame),
        )
        for key, value in pairs
    ]


def _element_at(holder: ast.expr, key: object, frame: Frame) -> Bound:
    """The element with a constant key, as if the source read it: `opts["actor"]`."""
    index = ast.copy_location(ast.Constant(key), holder)  # type: ignore[arg-type]
    return Bound(ast.copy_location(ast.Subscript(holder, index, ast.Load()), holder), frame)


def _only_display(source: ast.expr, frame: Frame, roles: Roles) -> Items | DictLiteral | None:
    """The display that is the only value of an expression, where nothing changes it.

    A caller out of sight may pass another: that is another program.
    """
    if not isinstance(source, ast.Name | ast.Attribute) or last_name(source) in _changed(frame.function.module):
        return None
    values = [each for each in roles.evaluator.values(source, frame) if not isinstance(each, Unknown)]
    match values:
        case [Items() | DictLiteral() as display] if last_name(source) not in _changed(display.frame.function.module):
            return display
    return None


def _whole(elements: list[ast.expr] | tuple[ast.expr, ...]) -> bool:
    return not any(isinstance(each, ast.Starred) for each in elements)


@lru_cache(maxsize=512)
def _changed(module: Module) -> frozenset[str]:
    """Names, of variables and attributes, whose containers some statement of a module changes."""
    found = set()
    for function in module.all_functions:
        for node in function.own_nodes:
            match node:
                case ast.Call(func=ast.Attribute(value=holder, attr=method)) if method in _MUTATORS:
                    found.add(last_name(holder))
                case ast.Subscript(value=holder, ctx=ast.Store() | ast.Del()):
                    found.add(last_name(holder))
                case ast.AugAssign(target=holder):
                    found.add(last_name(holder))
    return frozenset(found)
