"""The call graph, backwards: which calls of the project may run a function."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from verifygate.base.fixpoint import fixpoint
from verifygate.base.records import record
from verifygate.static.symbols.import_graph import ImportGraph
from verifygate.static.symbols.program import Function, Module
from verifygate.static.values.domain import Bound, Frame
from verifygate.static.values.evaluator import Evaluator


@record
class Site:
    """A call, and the function in which it stands."""

    call: ast.Call
    caller: Function


class CallGraph:
    """The call graph of the modules, both ways. Down it is followed call by call; up, all calls have to be known."""

    def __init__(self, evaluator: Evaluator, modules: list[Module], imports: ImportGraph) -> None:
        self._evaluator = evaluator
        self._modules = modules
        self._imports = imports
        self._callees: dict[ast.Call, tuple[Function, ...]] = {}
        self._above: dict[Function, frozenset[Function]] = {}

    def sites(self, function: Function) -> list[Site]:
        """The calls that may run the function."""
        return self._sites.get(function, [])

    def callees(self, call: ast.Call, caller: Function) -> tuple[Function, ...]:
        """The project's functions that a call, which stands in `caller`, may run."""
        if call not in self._callees:
            frame = self._evaluator.root_frame(caller)
            self._callees[call] = tuple(callee.function for callee in self._evaluator.callees(call, frame))
        return self._callees[call]

    def entries(self, function: Function) -> Iterator[tuple[Site, Frame]]:
        """The calls that may run the function, each with the frame in which it does."""
        for site in self.sites(function):
            for entered in self.entered(site.call, site.caller):
                if entered.function is function:
                    yield site, entered

    def entered(self, call: ast.Call, caller: Function) -> Iterator[Frame]:
        """The frames in which a call, which stands in `caller`, runs the project's functions."""
        home = self._evaluator.root_frame(caller)
        for callee in self._evaluator.callees(call, home):
            if (entered := self._evaluator.enter(callee, call, home)) is not None:
                yield entered

    def given(self, parameter: str, function: Function) -> Iterator[tuple[Site, Bound]]:
        """What the calls of a function give for one of its parameters."""
        for site, entered in self.entries(function):
            if bound := entered.arguments.get(parameter):
                yield site, bound

    @cached_property
    def _sites(self) -> dict[Function, list[Site]]:
        found: dict[Function, list[Site]] = {}
        for module in self._modules:
            for function in module.all_functions:
                for call in function.calls:
                    for callee in self.callees(call, function):
                        found.setdefault(callee, []).append(Site(call, function))
        return found

    def above(self, function: Function) -> frozenset[Function]:
        """The function, the functions around it, and everything that calls any of them."""
        if function not in self._above:
            self._above[function] = frozenset(fixpoint([function], self._directly_above))
        return self._above[function]

    def common(self, one: Function, other: Function) -> frozenset[Function]:
        """What leads to both functions in one run: a launcher that programs share runs one of them each time."""
        if other.module.path not in self._imports.with_loaded(one.module.path):
            return frozenset()
        return self.above(one) & self.above(other)

    def _directly_above(self, function: Function) -> Iterator[Function]:
        yield from (site.caller for site in self.sites(function))
        if function.enclosing is not None and function.enclosing.symbol:
            yield function.enclosing
