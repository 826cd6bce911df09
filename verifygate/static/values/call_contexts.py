"""Calling contexts: the arguments that the project's own calls pass to a function that is analysed by itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from verifygate.base.records import field, record
from verifygate.static.symbols.program import Function, calls_by_name
from verifygate.static.values.call_binding import passes_on
from verifygate.static.values.constructor_names import ConstructorNames
from verifygate.static.values.domain import Frame

if TYPE_CHECKING:
    from verifygate.static.values.evaluation import Evaluation


@record(eq=False)
class _Sites:
    """The calls of one name, by number in the order of the source."""

    open: dict[int, tuple[ast.Call, Function]] = field(default_factory=dict)
    """Those of which it is not settled yet what they run."""
    settled: dict[Function, dict[int, tuple[ast.Call, Function]]] = field(default_factory=dict)
    """Function -> those that run it."""
    no_module: set[int] = field(default_factory=set)
    """Those on something that is no import: they run no function of a module."""

    def of(self, function: Function) -> list[tuple[int, tuple[ast.Call, Function]]]:
        """The calls that may run the function, in order."""
        if not self.settled:
            return list(self.open.items())
        return sorted((self.open | self.settled.get(function, {})).items())


class CallContexts:
    """Finds, for a function entered from nowhere in particular, the frames in which the project's calls enter it."""

    def __init__(self, evaluator: Evaluation) -> None:
        self._evaluator = evaluator
        self._known: dict[Function, list[Frame]] = {}
        self._by_name: dict[str, _Sites] = {}
        self._asked: set[Function] = set()
        self._constructors = ConstructorNames(evaluator)

    def of(self, function: Function) -> list[Frame]:
        """The function as each of the calls that pass it something enters it."""
        if function in self._known:
            return self._known[function]
        found: list[Frame] = []
        gaps = self._evaluator.demand.gaps
        made = function.owner if function.name == "__init__" else None
        for name in self._constructors.names(made) if made is not None else (function.name,):
            sites = self._sites(name)
            for number, (call, caller) in sites.of(function):
                if made is None or name != "__init__" or self._constructors.may_be_above(made, caller):
                    found += self._entered(function, number, call, caller, sites)
        if self._evaluator.demand.gaps == gaps:  # else inside a cycle: asked from elsewhere there may be more
            self._known[function] = found
        return found

    def _entered(
        self, function: Function, number: int, call: ast.Call, caller: Function, sites: _Sites
    ) -> Iterator[Frame]:
        """The function as one call enters it, if it does."""
        evaluator = self._evaluator
        home = evaluator.root_frame(caller)
        if function.owner is None and not self._may_lead(number, call, home, sites):
            return
        for callee in (callees := evaluator.callees(call, home)):
            if callee.function is not function:
                continue
            for frame in self._homes(call, caller) or [home]:
                if (entered := evaluator.enter(callee, call, frame)) is not None:
                    yield entered
        if call in home.callees and number in sites.open:
            del sites.open[number]
            for callee in callees:
                sites.settled.setdefault(callee.function, {})[number] = (call, caller)

    def _homes(self, call: ast.Call, caller: Function) -> list[Frame]:
        """The caller as the project's calls enter it, where the call hands on what the caller takes by stars."""
        if not passes_on(call) or caller in self._asked:
            return []
        self._asked.add(caller)
        try:
            return self.of(caller)
        finally:
            self._asked.discard(caller)

    def _sites(self, name: str) -> _Sites:
        """The calls of one name that pass something."""
        if name not in self._by_name:
            passing = [each for each in self._calls.get(name, ()) if each[0].args or each[0].keywords]
            self._by_name[name] = _Sites(dict(enumerate(passing)))
        return self._by_name[name]

    @cached_property
    def _calls(self) -> dict[str, list[tuple[ast.Call, Function]]]:
        return calls_by_name(self._evaluator.modules)

    def _may_lead(self, number: int, call: ast.Call, home: Frame, sites: _Sites) -> bool:
        """Whether `a.b.function(...)` can be about a function of a module: not where `a` is no import."""
        if number in sites.no_module:
            return False
        base = call.func
        if not isinstance(base, ast.Attribute):
            return True
        while isinstance(base, ast.Attribute):
            base = base.value
        found = self._evaluator.lookup(base.id, home) if isinstance(base, ast.Name) else None
        if found is not None and any(binding.kind in ("module", "member") for binding in found[0]):
            return True
        sites.no_module.add(number)
        return False
