"""What a branch condition queries about gradients: their norm, inf and NaN, or what the scaler remembers."""

from __future__ import annotations

import ast
import re

from verifygate import torch_names
from verifygate.static.lowering.event_graph import Branch, Node
from verifygate.static.symbols.location import Location
from verifygate.static.syntax.traversal import walk


def queries_gradients(node: Node) -> bool:
    """Whether a branch asks of gradients, or of their norm, whether they are finite."""
    if not isinstance(node.payload, Branch):
        return False
    text = ast.unparse(node.place.node)
    return "grad" in text and _names_finite(text)


def queries_norm(test: ast.AST) -> bool:
    """Whether a condition queries how large gradients are, or whether to skip: `if norm > limit`, `if skipped`."""
    text = ast.unparse(test)
    return bool(re.search(r"norm|skip", text, re.IGNORECASE)) or _names_finite(text)


def queries_scaler(test: ast.AST) -> bool:
    """Whether a condition looks up what the scaler remembers, so as to unscale once."""
    text = ast.unparse(test)
    return any(word in text for word in ("UNSCALED", "_per_optimizer_states"))


def queries_finite(place: Location) -> bool:
    """Whether a condition checks for inf and NaN, or reads the result of such a check."""
    return _names_finite(ast.unparse(place.node)) or queries_finite_result(place)


def queries_finite_result(place: Location) -> bool:
    """Whether a condition reads what a check for inf and NaN gives: `ok = isfinite(g).all()`, `ok(model)`."""
    names = {node.id for node in walk(place.node) if isinstance(node, ast.Name)}
    bound = (each.expr for name in names for each in place.function.scope.names.get(name, ()))
    called = (each.node for name in names if (each := place.function.module.functions.get(name)) is not None)
    return any(_names_finite(ast.unparse(each)) for each in (*bound, *called) if each)


def _names_finite(text: str) -> bool:
    return any(word in text for word in torch_names.FINITE_WORDS)
