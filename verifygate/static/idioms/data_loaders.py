"""The DataLoaders of a project: what they are built with."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from verifygate.base.records import record
from verifygate.static.facts.hot_loops import HotLoop
from verifygate.static.symbols.program import Function
from verifygate.static.symbols.scopes import bound_targets
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import Bound, DictLiteral, ExternalResult, Frame, Literal, Values, dict_items

if TYPE_CHECKING:
    from verifygate.static.analysis import Analysis

DATA_LOADERS = frozenset({"torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader"})
_POSITIONS = (
    *("dataset", "batch_size", "shuffle", "sampler", "batch_sampler", "num_workers", "collate_fn", "pin_memory"),
    *("drop_last", "timeout", "worker_init_fn", "multiprocessing_context", "generator"),
)


class _Absent:
    """Stands for a value that cannot be told."""


ABSENT: Final = _Absent()


@record(eq=False, slots=False)
class Loader:
    """One call of DataLoader."""

    call: ast.Call
    frame: Frame
    function: Function
    analysis: Analysis

    def given(self, option: str) -> Bound | _Absent | None:
        """What an option is given: None where it is not, ABSENT where `**options` may or may not hold it."""
        for word in self.call.keywords:
            if word.arg == option:
                return Bound(word.value, self.frame)
        if any(isinstance(argument, ast.Starred) for argument in self.call.args):
            return ABSENT
        if option in _POSITIONS and (position := _POSITIONS.index(option)) < len(self.call.args):
            return Bound(self.call.args[position], self.frame)
        for word in self.call.keywords:
            if word.arg is None and (found := self._spread(word.value, option)) is not None:
                return found
        return None

    def _spread(self, options: ast.expr, name: str) -> Bound | _Absent | None:
        """What a dict of options holds; sure only where it is one dict written out with known keys."""
        values = self.analysis.evaluator.values(options, self.frame)
        shapes = self.analysis.dict_keys.of(options, self.frame)
        if shapes is None or len(values) != 1 or not isinstance(only := next(iter(values)), DictLiteral):
            return ABSENT
        item = dict_items(only.node).get(name)
        if item is not None:
            return Bound(item, only.frame)
        return ABSENT if name in shapes[0].keys else None

    def constant(self, option: str, default: object) -> object:
        """The one constant that an option is; ABSENT where it may be anything."""
        given = self.given(option)
        if given is None:
            return default
        if isinstance(given, _Absent):
            return ABSENT
        values = self.analysis.evaluator.values(given.expr, given.frame)
        only = next(iter(values)) if len(values) == 1 else None
        return only.value if isinstance(only, Literal) else ABSENT

    def values(self, option: str) -> Values:
        """All that an option can be; nothing where it is not given or cannot be told."""
        given = self.given(option)
        if given is None or isinstance(given, _Absent):
            return ()
        return self.analysis.evaluator.values(given.expr, given.frame)


def loaders(analysis: Analysis) -> Iterator[Loader]:
    """Every DataLoader that the picked modules build."""
    for call, function in analysis.calls:
        if getattr(call.func, "attr", getattr(call.func, "id", "")).endswith("DataLoader"):
            frame = analysis.evaluator.root_frame(function)
            if analysis.roles.known_name(call.func, frame) in DATA_LOADERS:
                yield Loader(call, frame, function, analysis)


def loaders_of(analysis: Analysis, loop: HotLoop) -> list[Loader]:
    """The DataLoaders that a loop draws from; empty where one of the things it may draw from is something else."""
    found = {
        value.calls[-1][0]: Loader(*value.calls[-1], value.calls[-1][1].function, analysis)
        for _, values in analysis.hot_loops.drawn.of(loop.node, loop.function)
        for value in values
        if isinstance(value, ExternalResult) and value.name in DATA_LOADERS and value.calls
    }
    return list(found.values())


@record(eq=False, slots=False)
class Feed:
    """A loader, a training loop that draws from it, and where the loop moves the batch to a device."""

    loader: Loader
    loop: HotLoop
    moves: tuple[ast.Call, ...]

    @property
    def blocking(self) -> list[ast.Call]:
        return [call for call in self.moves if not any(word.arg == "non_blocking" for word in call.keywords)]

    @property
    def asynchronous(self) -> bool:
        """Whether each move says that it need not wait."""
        return not self.blocking


def feeding_a_gpu(analysis: Analysis) -> Iterator[Feed]:
    """Each loader that a training loop draws from, where the loop moves the batch to what may be a GPU; once each."""
    seen: set[ast.Call] = set()
    for loop in analysis.hot_loops.training:
        found = loaders_of(analysis, loop)
        moves = _moves(loop, analysis)
        data = loop.function.module.file.data
        if not moves or len(found) != 1 or found[0].call in seen:
            continue
        if b"cuda" not in data and not loop.function.module.file.mentions_amp:
            continue
        seen.add(found[0].call)
        yield Feed(found[0], loop, moves)


def _moves(loop: HotLoop, analysis: Analysis) -> tuple[ast.Call, ...]:
    """Moves of what the loop draws: `.cuda(...)`, or `.to(...)` what may be a GPU, in every iteration."""
    drawn = _drawn(loop)
    return tuple(
        spot.node
        for spot in loop.own_turns
        if isinstance(spot.node, ast.Call)
        and isinstance(spot.node.func, ast.Attribute)
        and (spot.node.func.attr == "cuda" or (spot.node.func.attr == "to" and _to_device(spot.node)))
        and any(_is_of_a_batch(node, drawn) for node in walk(spot.node.func.value))
        and not any(_rules_out_a_gpu(*each) for each in analysis.enclosing.conditions(spot.node, loop.function))
    )


def _is_of_a_batch(node: ast.AST, drawn: set[str]) -> bool:
    """Whether something goes by the name of a batch that was drawn, or is drawn there and then: `next(it).cuda()`."""
    return (isinstance(node, ast.Call) and _is_name(node.func, "next")) or (
        isinstance(node, ast.Name) and node.id in drawn
    )


def _rules_out_a_gpu(test: ast.expr, holds: bool) -> bool:
    """Whether a condition that holds, or does not, says that there is no CUDA device: `device.type != "cuda"`."""
    match test:
        case ast.BoolOp(op=ast.And()):
            return holds and any(_rules_out_a_gpu(each, holds) for each in test.values)
        case ast.UnaryOp(op=ast.Not()):
            return _rules_out_a_gpu(test.operand, not holds)
        case ast.Compare(ops=[ast.Eq() | ast.NotEq() as op], comparators=[ast.Constant(value="cuda" | "cpu" as named)]):
            return (isinstance(op, ast.Eq) is holds) is (named == "cpu")
        case ast.Call(func=ast.Attribute(attr="is_available")):
            return not holds
    return False


def _drawn(loop: HotLoop) -> set[str]:
    """The names that an iteration binds to a batch and its parts: by the loop's own variables, or by `next`."""
    target = [] if isinstance(loop.node, ast.While) else walk(loop.node.target)
    drawn = {node.id for node in target if isinstance(node, ast.Name)}
    bound = [(each.id, binding.expr) for each, binding in bound_targets(tuple(walk(loop.node))) if _is_name(each)]  # type: ignore[attr-defined]
    drawn |= {name for name, expr in bound if isinstance(expr, ast.Call) and _is_name(expr.func, "next")}
    return drawn | {name for name, expr in bound if isinstance(expr, ast.Name) and expr.id in drawn}


def _is_name(expr: ast.expr, name: str = "") -> bool:
    return isinstance(expr, ast.Name) and name in ("", expr.id)


def _to_device(call: ast.Call) -> bool:
    """Whether a `.to(...)` names a device: by a constant, or by a name with `device`, `rank` or `gpu` in it."""
    given = [*call.args[:1], *(word.value for word in call.keywords if word.arg == "device")]
    for argument in given:
        text = ast.unparse(argument).lower()
        if "cpu" in text or "dtype" in text:
            return False
        if any(word in text for word in ("device", "cuda", "rank", "gpu")):
            return True
    return False
