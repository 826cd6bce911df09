"""Exponential moving averages of a model's weights: where one is updated, whose weights it holds, and its decay."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.base.records import record
from verifygate.static.analysis import Analysis
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk

_VIEWS = frozenset({"data", "detach"})
_GIVE = frozenset({"parameters", "named_parameters", "values", "items", "state_dict", "buffers"})
UPDATES = frozenset({"add_", "lerp_", "copy_"})


@record(eq=False)
class AverageUpdate:
    """One statement that moves an average a little towards the weights of another model."""

    place: Location
    model: ast.expr
    """The model that holds the average, or whose weights it is made of."""
    share: ast.expr | None
    """What is kept of the average, or what is taken of the new weight; None where neither is told."""
    is_held: bool = True
    """Whether the model holds the average; otherwise a container of tensors does, as `self.kept[name]`."""


def average_updates(function: Function, analysis: Analysis) -> Iterator[AverageUpdate]:
    """The updates of averages in a function, of what a loop over a model's parameters gives."""
    for call in function.calls:
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in UPDATES:
            continue
        held, share = _parts(call)
        if held is None:
            continue
        is_held = isinstance(held, ast.Name)
        model = _model_of(held if is_held else _key(held), call, function, analysis)
        if model is not None:
            yield AverageUpdate(Location(function, call), model, share, is_held)


def _parts(call: ast.Call) -> tuple[ast.expr | None, ast.expr | None]:
    """The average that a call updates, and the share: of `e.mul_(d).add_(p, ...)`, `e.lerp_(p, w)`, `e.copy_(...)`."""
    match call:
        case ast.Call(
            func=ast.Attribute(
                value=ast.Call(func=ast.Attribute(value=held, attr="mul_"), args=[share, *_]), attr="add_"
            )
        ):
            return _viewed(held), share
        case ast.Call(func=ast.Attribute(value=held, attr="lerp_"), args=[_, *given], keywords=words):
            shares = [*given, *(word.value for word in words if word.arg == "weight")]
            return _viewed(held), shares[0] if shares else None
        case ast.Call(func=ast.Attribute(value=held, attr="copy_"), args=[ast.BinOp(op=ast.Add()) as mixed, *_]):
            text = ast.unparse(_viewed(held))
            for part in (mixed.left, mixed.right):
                if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mult):
                    for one, other in ((part.left, part.right), (part.right, part.left)):
                        if ast.unparse(_viewed(one)) == text:
                            return _viewed(held), other
    return None, None


def _viewed(expr: ast.expr) -> ast.expr:
    """What a view shows: `e` of `e.data` and of `e.detach()`."""
    while True:
        match expr:
            case (
                ast.Attribute(value=inner, attr=attr) | ast.Call(func=ast.Attribute(value=inner, attr=attr), args=[])
            ) if attr in _VIEWS:
                expr = inner
            case _:
                return expr


def _key(held: ast.expr) -> ast.expr:
    """The key under which a container holds an average: that of the weight which is given beside it."""
    return held.slice if isinstance(held, ast.Subscript) else held


def _model_of(held: ast.expr, call: ast.Call, function: Function, analysis: Analysis) -> ast.expr | None:
    """The model over whose parameters a loop runs that gives the average at hand."""
    if not isinstance(held, ast.Name):
        return None
    for loop in analysis.enclosing.loops(call, function):
        if not isinstance(loop, ast.For):
            continue
        iterated = _iterated(held.id, loop.target, loop.iter)
        while isinstance(iterated, ast.Call) and isinstance(iterated.func, ast.Attribute):
            if iterated.func.attr not in _GIVE:
                return None
            iterated = iterated.func.value
            if isinstance(iterated, ast.Name | ast.Attribute):
                return iterated
    return None


def _iterated(name: str, target: ast.expr, iterated: ast.expr) -> ast.expr | None:
    """What gives a variable of a loop: its own part of a `zip`."""
    while (
        isinstance(iterated, ast.Call) and last_name(iterated.func) in ("enumerate", "tqdm", "list") and iterated.args
    ):
        if last_name(iterated.func) == "enumerate" and isinstance(target, ast.Tuple):
            target = target.elts[1]
        iterated = iterated.args[0]
    if isinstance(iterated, ast.Call) and last_name(iterated.func) == "zip" and isinstance(target, ast.Tuple):
        for part, given in zip(target.elts, iterated.args, strict=False):
            if name in {node.id for node in walk(part) if isinstance(node, ast.Name)}:
                return given
        return None
    return iterated if name in {node.id for node in walk(target) if isinstance(node, ast.Name)} else None


def numbers_of(expr: ast.expr, function: Function, analysis: Analysis) -> set[float | None]:
    """The numbers that an expression may be: of a parameter what the calls pass, and its default."""
    frame = analysis.evaluator.root_frame(function)
    known = analysis.constants.number(expr, frame)
    if known is not None:
        return {known}
    match expr:
        case ast.BinOp(left=ast.Constant(value=1 | 1.0), op=ast.Sub(), right=right):
            return {None if each is None else 1.0 - each for each in numbers_of(right, function, analysis)}
        case ast.Name(id=name) if name in {each.arg for each in function.parameters}:
            sites = analysis.call_graph.sites(function)
            given = list(analysis.call_graph.given(name, function))
            found = {analysis.constants.number(bound.expr, bound.frame) for _, bound in given}
            if len(given) < len(sites) or not sites:
                found.add(analysis.constants.number(function.default(name), frame))
            return found
    return {None}
