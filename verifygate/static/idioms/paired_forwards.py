"""Two forwards whose results are compared: of a model and its reference, and of training and evaluation."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from verifygate.base.records import record
from verifygate.static.amp.autocast_regions import WrittenRegion
from verifygate.static.facts.autograd_mode import is_off
from verifygate.static.facts.hot_loops import HotLoop
from verifygate.static.facts.step_tensors import is_loss_call, names_in
from verifygate.static.symbols.sites import ProgramPoint
from verifygate.static.syntax.traversal import children, walk
from verifygate.static.values.domain import Bound, ClassValue, ExternalName, FunctionValue, Unknown

if TYPE_CHECKING:
    from verifygate.static.analysis import Analysis

_STEPS = 4


@record
class Pair:
    """The calls that run a model that is trained, and its reference, for the same computation."""

    trained: ast.Call
    reference: ast.Call


def paired_forwards(loop: HotLoop, analysis: Analysis) -> Iterator[Pair]:
    """Of a loop, the pairs of equal computations with and without autograd, whose results are subtracted."""
    compared = _compared(loop)
    made = [each for each in _assignments(loop, analysis) if any(each[0] in pair for pair in compared)]
    for name, value, off in made:
        for other, its, other_off in made if off else ():
            if other_off or other == name or frozenset({other, name}) not in compared:
                continue
            calls = _differing_calls(its, value)
            if len(calls) == 1 and _may_be_models(*calls[0], loop, analysis):
                yield Pair(*calls[0])
                break


def _assignments(loop: HotLoop, analysis: Analysis) -> Iterator[tuple[str, ast.expr, bool]]:
    """The variables that the loop assigns, each with its value, and whether autograd is off there."""
    for spot in analysis.hot_loops.spots(loop.function):
        match spot.node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if loop.node in spot.loops:
                yield name, _attached(value), is_off(spot, analysis.evaluator)


def _attached(value: ast.expr) -> ast.expr:
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "detach":
        value = value.func.value
    return value


def _differing_calls(one: ast.AST, other: ast.AST) -> list[tuple[ast.Call, ast.Call]]:
    """The calls in which two equal expressions run different things; one pair where they are equal but for that."""
    found: list[tuple[ast.Call, ast.Call]] = []
    stack = [(one, other)]
    while stack:
        first, second = stack.pop()
        if isinstance(first, ast.Call) and isinstance(second, ast.Call) and _runs_another(first, second):
            found.append((first, second))
            first, second = _given(first), _given(second)
        mine, its = children(first), children(second)
        if first.__class__ is not second.__class__ or len(mine) != len(its) or (not mine and not _same(first, second)):
            return []
        stack += list(zip(mine, its, strict=True))
    return found


def _runs_another(one: ast.Call, other: ast.Call) -> bool:
    """Whether two calls run different things, and the difference is not in what calls in there give."""
    return not _same(one.func, other.func) and not _is_part_of(one.func) and not _is_part_of(other.func)


def _same(one: ast.AST, other: ast.AST) -> bool:
    return ast.dump(one) == ast.dump(other)


def _is_part_of(func: ast.expr) -> bool:
    """Whether what is called is a method of what another call gives: the difference is in there."""
    return isinstance(func, ast.Attribute) and any(isinstance(node, ast.Call) for node in walk(func.value))


def _given(call: ast.Call) -> ast.AST:
    return ast.Tuple([*call.args, *(word.value for word in call.keywords)], ast.Load())


def _may_be_models(trained: ast.Call, reference: ast.Call, loop: HotLoop, analysis: Analysis) -> bool:
    """Whether two things that are called alike are models: one is known for one, or nothing is known of either."""
    frame = analysis.evaluator.root_frame(loop.function)
    values = [value for call in (trained, reference) for value in analysis.evaluator.values(call.func, frame)]
    if not trained.args + [word.value for word in trained.keywords]:
        return False
    if any(isinstance(value, FunctionValue | ExternalName | ClassValue) for value in values):
        return False
    return any(analysis.hot_loops.is_model(call.func, loop.function) for call in (trained, reference)) or all(
        isinstance(value, Unknown) for value in values
    )


def _compared(loop: HotLoop) -> set[frozenset[str]]:
    """The pairs of names of which a loop subtracts one from the other, or passes both to one loss."""
    found = set()
    for node in walk(loop.node):
        match node:
            case ast.BinOp(left=left, op=ast.Sub(), right=right):
                sides = set(names_in(left)), set(names_in(right))
            case ast.Call(args=[left, right, *_]) if is_loss_call(node):
                sides = set(names_in(left)), set(names_in(right))
            case _:
                continue
        found |= {frozenset({one, other}) for one in sides[0] for other in sides[1]}
    return found


def reads_loss_of_output(value: ast.expr, spot: ProgramPoint, analysis: Analysis) -> bool:
    """Whether an expression reads the loss that a model itself gives: `outputs.loss.item()`, `outputs["loss"]`."""
    for node in walk(value):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr="loss"):
                pass
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value="loss")):
                pass
            case _:
                continue
        for binding in spot.function.scope.names.get(name, ()):
            if isinstance(binding.expr, ast.Call) and analysis.hot_loops.is_model(binding.expr.func, spot.function):
                return True
    return False


def differ(trained: WrittenRegion, measured: WrittenRegion, analysis: Analysis) -> bool:
    """Whether the conditions that switch two regions on share nothing, and one of them asks what is known by itself.

    `enabled=scaler is not None` beside `enabled=torch.cuda.is_available()`. Of two settings under different names
    nothing is known: a caller may give both the same.
    """
    one, other = trained.region.enabled, measured.region.enabled
    if trained is measured or one is None or other is None:
        return False
    first, second = (frozenset(_leaves(each, analysis, _STEPS)) for each in (one, other))
    if not first or not second or first & second:
        return False
    return any(leaf.endswith("()") for leaf in first | second)


def _leaves(bound: Bound, analysis: Analysis, steps: int) -> Iterator[str]:
    """What a condition depends on, after the definitions of its names: paths of variables, and calls of libraries."""
    stack: list[ast.expr] = [bound.expr]
    while stack:
        node = stack.pop()
        match node:
            case ast.Call():
                values = analysis.evaluator.values(node.func, bound.frame)
                names = [value.name for value in values if isinstance(value, ExternalName)]
                yield f"{names[0]}()" if len(names) == 1 else ast.unparse(node)
            case ast.Name() | ast.Attribute():
                made = list(_definitions(node, bound, analysis)) if steps else []
                if not made:
                    yield str(analysis.roles.path(node, bound.frame))
                for each in made:
                    yield from _leaves(each, analysis, steps - 1)
            case _:
                stack += [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]


def _definitions(node: ast.expr, bound: Bound, analysis: Analysis) -> Iterator[Bound]:
    for binding, home in analysis.dtype_values.bindings(node, bound.frame):
        if binding.kind == "value" and binding.expr is not None:
            yield Bound(binding.expr, home)
        elif binding.kind == "parameter" and (given := home.arguments.get(binding.node.arg)):  # type: ignore[attr-defined]
            yield given
        elif binding.kind == "parameter":
            yield from (each for _, each in analysis.call_graph.given(binding.node.arg, home.function))  # type: ignore[attr-defined]
