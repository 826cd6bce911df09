"""What a branch condition queries about gradients: their norm, inf and NaN, or what the scaler remembers.

A condition is followed to what defines the variables in it: `if not spike` to `if norm > limit: spike = True`, and that
to the clip that measured the norm. A name by itself says something only where nothing in sight defines it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from verifygate import torch_names
from verifygate.naming import speaks_of_a_skip
from verifygate.static.lowering.event_graph import Branch, Node
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import is_none, walk

_NORMS = torch_names.CLIP_FUNCTIONS | torch_names.CLIP_METHODS | torch_names.GRAD_READINGS | torch_names.GRAD_RECORDERS
_MAX_FOLLOWED = 3


def queries_gradients(node: Node) -> bool:
    """Whether a branch asks of gradients, or of their norm, whether they are finite."""
    return isinstance(node.payload, Branch) and _asks_of_gradients(node.place.node, node.place.function)


def queries_norm(place: Location) -> bool:
    """Whether a condition queries how large gradients are, or whether to skip: `if norm > limit`, `if skipped`."""
    return _asks_of_norm(place.node, place.function)


def queries_scaler(test: ast.AST) -> bool:
    """Whether a condition looks up what the scaler remembers, so as to unscale once."""
    text = ast.unparse(test)
    return any(word in text for word in ("UNSCALED", "_per_optimizer_states"))


def queries_finite(place: Location) -> bool:
    """Whether a condition checks for inf and NaN, or reads the result of such a check."""
    return _asks_of_finite(place.node, place.function)


def queries_finite_result(place: Location) -> bool:
    """Whether a condition reads what a check for inf and NaN gives: `ok = isfinite(g).all()`, `ok(model)`."""
    return not _names_finite(ast.unparse(place.node)) and queries_finite(place)


def raises(place: Location) -> bool:
    """Whether a check raises where it strikes: whatever comes after it has been led past nothing."""
    return any(
        place.node in walk(each.test) and isinstance(each.body[-1], ast.Raise) and not each.orelse
        for each in place.function.of_kind(ast.If)
    )


def raises_on_overflow(node: Node) -> bool:
    """Whether a branch raises where gradients are inf; one that asks for NaN alone does not see an overflow."""
    if not queries_gradients(node) or not raises(node.place):
        return False
    texts = [ast.unparse(each) for each in _sources(node.place.node, node.place.function)]
    return any(word in text for text in texts for word in ("isfinite", "isinf"))


@lru_cache(maxsize=2048)
def _asks_of_finite(test: ast.AST, function: Function) -> bool:
    called = (function.module.functions.get(name) for name in _names(test))
    return any(_names_finite(ast.unparse(each.node)) for each in called if each is not None) or any(
        _names_finite(ast.unparse(each)) for each in _sources(test, function)
    )


@lru_cache(maxsize=2048)
def _asks_of_gradients(test: ast.AST, function: Function) -> bool:
    if not _asks_of_finite(test, function):
        return False
    called = (function.module.functions.get(name) for name in _names(test))
    looked_at = [*_sources(test, function), *(each.node for each in called if each is not None)]
    return any(_is_of_gradients(node) for each in looked_at for node in walk(each))


def _is_of_gradients(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(attr="grad"):
            return True
        case ast.Call(func=func):
            return last_name(func) in _NORMS
    return False


@lru_cache(maxsize=2048)
def _asks_of_norm(test: ast.AST, function: Function) -> bool:
    if _asks_of_finite(test, function):
        return True
    sources = list(_sources(test, function))
    if any(isinstance(node, ast.Call) and last_name(node.func) in _NORMS for each in sources for node in walk(each)):
        return True
    unknown = (name for each in sources for name in _undefined(each, function))
    return any(map(speaks_of_a_skip, unknown))


def _sources(test: ast.AST, function: Function) -> Iterator[ast.AST]:
    """A condition, what defines the variables in it, and the conditions under which those are set."""
    ahead: list[tuple[ast.AST, int]] = [(test, 0)]
    seen = set[str]()
    while ahead:
        node, followed = ahead.pop()
        yield node
        if followed >= _MAX_FOLLOWED:
            continue
        for name in _names(node) - seen:
            seen.add(name)
            for binding in function.scope.names.get(name, ()):
                if binding.expr is None or binding.kind not in ("value", "item", "changed"):
                    continue
                ahead.append((binding.expr, followed + 1))
                if isinstance(binding.expr, ast.Constant) and not is_none(binding.expr):
                    ahead += [(each.test, followed + 1) for each in _deciding(binding.node, function)]


def _deciding(statement: ast.AST, function: Function) -> Iterator[ast.If]:
    """The innermost condition that a statement stands under."""
    around = [
        each for each in function.of_kind(ast.If) if any(statement is part for part in (*each.body, *each.orelse))
    ]
    yield from around[-1:]


def _undefined(expr: ast.AST, function: Function) -> Iterator[str]:
    """Names in an expression that no statement of the function defines: parameters, attributes, results of calls."""
    for node in walk(expr):
        match node:
            case ast.Name(id=name):
                bound = function.scope.names.get(name, ())
                if all(each.expr is None or isinstance(each.expr, ast.Call) for each in bound):
                    yield name
            case ast.Attribute(attr=name):
                yield name


def _names(expr: ast.AST) -> set[str]:
    return {node.id for node in walk(expr) if isinstance(node, ast.Name)}


def _names_finite(text: str) -> bool:
    return any(word in text for word in torch_names.FINITE_WORDS)
