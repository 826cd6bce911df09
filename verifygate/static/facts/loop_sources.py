"""What a loop iterates over: the loader of its batches, through `zip`, progress bars and `next`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from verifygate.naming import names_a_loader
from verifygate.static.symbols.program import Function
from verifygate.static.symbols.sites import Loop, ProgramPoint
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import ExternalResult, Frame, Values
from verifygate.static.values.evaluator import Evaluator

_WRAPPERS = frozenset({"enumerate", "zip", "tqdm", "trange", "iter", "islice", "cycle"})
"""Calls that hand on what they are given, item by item."""
_MAX_FOUND = 20


class LoopSources:
    """Tells, for each loop, what it draws from; `spots` are what a function does, with the loops around it."""

    def __init__(self, evaluator: Evaluator, spots: Callable[[Function], list[ProgramPoint]]) -> None:
        self._evaluator = evaluator
        self._spots = spots
        self._known: dict[Loop, list[tuple[ast.expr, Values]]] = {}

    def from_a_loader(self, loop: Loop, function: Function) -> bool:
        """Whether a loop draws batches."""
        return any(_is_loader(node, values) for node, values in self.of(loop, function))

    def of(self, loop: Loop, function: Function) -> list[tuple[ast.expr, Values]]:
        """The names and calls that make up what a loop goes over, each with what it can be."""
        if loop not in self._known:  # it is asked for each call in the loop
            self._known[loop] = self._all(loop, function)
        return self._known[loop]

    def _all(self, loop: Loop, function: Function) -> list[tuple[ast.expr, Values]]:
        found = [] if isinstance(loop, ast.While) else self._made_of([loop.iter], function)
        if not _counts_turns(loop, function) or any(_is_loader(node, values) for node, values in found):
            return found
        own = [] if isinstance(loop, ast.While) else [ast.unparse(loop.target)]
        nexts = [
            spot.node.args[0]
            for spot in self._spots(function)
            if spot.loops
            and spot.loops[-1] is loop
            and isinstance(spot.node, ast.Call)
            and last_name(spot.node.func) == "next"
            and spot.node.args
            and not any(_of_turn(each, own) for each in (spot.node.args[0], *_bound_to(spot.node.args[0], function)))
        ]
        return found + self._made_of(nexts, function)

    def _made_of(self, exprs: list[ast.expr], function: Function) -> list[tuple[ast.expr, Values]]:
        found: list[tuple[ast.expr, Values]] = []
        queue: list[tuple[ast.AST, Frame]] = [(expr, self._evaluator.root_frame(function)) for expr in exprs]
        while queue and len(found) < _MAX_FOUND:
            inside, frame = queue.pop()
            for node in walk(inside):
                if isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
                    values = self._evaluator.values(node, frame)
                    found.append((node, values))
                    queue += [
                        (call, home)
                        for value in values
                        if isinstance(value, ExternalResult) and value.name.rpartition(".")[2] in _WRAPPERS
                        for call, home in value.calls
                        if call is not inside
                    ]
        return found


def _of_turn(expr: ast.expr, own: list[str]) -> bool:
    """Whether the variable of a loop picks what each iteration draws from: an iterator of its own, not a next batch."""
    return any(isinstance(node, ast.Name) and node.id in own for node in walk(expr))


def _bound_to(expr: ast.expr, function: Function) -> Iterator[ast.expr]:
    bindings = function.scope.names.get(expr.id, ()) if isinstance(expr, ast.Name) else ()
    return (binding.expr for binding in bindings if binding.expr is not None)


def _counts_turns(loop: Loop, function: Function) -> bool:
    """Whether a loop only counts its iterations, also with a progress bar, and draws in its body what it goes over."""
    if isinstance(loop, ast.While):
        return True
    counted = (loop.iter, *_bound_to(loop.iter, function))
    return any(isinstance(each, ast.Call) and last_name(each.func) in ("range", "count", "trange") for each in counted)


def _is_loader(node: ast.expr, values: Values) -> bool:
    return names_a_loader(last_name(node)) or any(
        isinstance(value, ExternalResult) and value.name.endswith(".DataLoader") for value in values
    )
