"""How many iterations a loop has, where the source tells: lists written out, `range`, loaders of data of known size."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from verifygate.static.idioms.data_loaders import DATA_LOADERS, Loader
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import Bound, Frame, Literal

if TYPE_CHECKING:
    from verifygate.static.analysis import Analysis

_KEEPING = frozenset({"enumerate", "list", "tuple", "iter", "sorted", "reversed", "tqdm", "TensorDataset"})
"""Calls that give as many items as their first argument has."""
_TENSORS = frozenset(f"torch.{name}" for name in ("randn", "rand", "zeros", "ones", "empty", "arange"))
_MAX_NAMES = 8


def iteration_count(iterated: ast.expr, frame: Frame, analysis: Analysis) -> int | None:
    """How many items an expression gives in a frame."""
    expr, frame = _followed(iterated, frame, analysis)
    match expr:
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return None if any(isinstance(each, ast.Starred) for each in items) else len(items)
        case ast.ListComp(generators=[ast.comprehension(iter=inner, ifs=[])]):
            return iteration_count(inner, frame, analysis)
        case ast.BinOp(left=items, op=ast.Mult(), right=times):
            return _product(iteration_count(items, frame, analysis), integer(times, frame, analysis))
        case ast.Call():
            return _count_of_call(expr, frame, analysis)
    return None


def _count_of_call(call: ast.Call, frame: Frame, analysis: Analysis) -> int | None:
    name = analysis.roles.known_name(call.func, frame)
    numbers = [integer(each, frame, analysis) for each in call.args]
    if name in DATA_LOADERS:
        return _batches(Loader(call, frame, frame.function, analysis), analysis)
    if name in _TENSORS:
        return numbers[0] if numbers else None
    match last_name(call.func), call.args:
        case ("range", [_]):
            return numbers[0]
        case ("range", [_, _]):
            first, last = numbers
            return None if first is None or last is None else last - first
        case ("islice", [_, _]):
            return numbers[1]
        case ("zip", [*several]):
            counts = [iteration_count(each, frame, analysis) for each in several]
            return min((each for each in counts if each is not None), default=None) if None not in counts else None
        case (kept, [first, *_]) if kept in _KEEPING:
            return iteration_count(first, frame, analysis)
    return None


def _batches(loader: Loader, analysis: Analysis) -> int | None:
    """The batches of a loader that keeps a last one that is not full."""
    data, size = loader.given("dataset"), loader.constant("batch_size", default=1)
    if not isinstance(data, Bound) or not isinstance(size, int) or not size:
        return None
    items = iteration_count(data.expr, data.frame, analysis)
    return None if items is None else -(-items // size)


def integer(expr: ast.expr, frame: Frame, analysis: Analysis) -> int | None:
    """The one integer that an expression is in a frame."""
    values = analysis.evaluator.values(expr, frame)
    only = next(iter(values)) if len(values) == 1 else None
    if isinstance(only, Literal):
        return only.value if isinstance(only.value, int) else None
    expr, frame = _followed(expr, frame, analysis)
    match expr:
        case ast.Call(func=ast.Name(id="len"), args=[counted]):
            return iteration_count(counted, frame, analysis)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _product(integer(left, frame, analysis), integer(right, frame, analysis))
    return None


def _product(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one * other


def is_multiple_of(iterated: ast.expr, factor: ast.expr) -> bool:
    """Whether a loop takes a number of items that is a product with a factor: `islice(loader, windows * n)`."""
    text = ast.dump(factor)
    products = (node for node in walk(iterated) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult))
    return any(text in (ast.dump(node.left), ast.dump(node.right)) for node in products)


def _followed(expr: ast.expr, frame: Frame, analysis: Analysis) -> tuple[ast.expr, Frame]:
    """What a name stands for: the argument for a parameter, its value where it is bound once."""
    for _ in range(_MAX_NAMES):
        found = analysis.evaluator.lookup(expr.id, frame) if isinstance(expr, ast.Name) else None
        if found is None or len(found[0]) != 1:
            break
        (binding,), home = found
        if binding.kind == "parameter" and (bound := home.arguments.get(expr.id)):  # type: ignore[attr-defined]
            expr, frame = bound.expr, bound.frame
        elif binding.kind == "value" and binding.expr is not None:
            expr, frame = binding.expr, home
        else:
            break
    return expr, frame
