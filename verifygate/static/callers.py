"""Who calls a function of the project, as far as its calls can be followed."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from verifygate.static.evaluate import Evaluator
from verifygate.static.program import Function, Module


@dataclass(frozen=True, slots=True)
class Site:
    """A call, and the function in which it stands."""

    call: ast.Call
    caller: Function


class Callers:
    """The call graph of the modules, both ways."""

    def __init__(self, evaluator: Evaluator, modules: list[Module]) -> None:
        self._sites: dict[Function, list[Site]] = {}
        self._callees: dict[ast.Call, list[Function]] = {}
        self._above: dict[Function, frozenset[Function]] = {}
        for module in modules:
            for function in (module.body, *module.functions.values()):
                frame = evaluator.root_frame(function)
                for node in function.own_nodes:
                    if isinstance(node, ast.Call):
                        for callee in evaluator.callees(node, frame):
                            self._sites.setdefault(callee.function, []).append(Site(node, function))
                            self._callees.setdefault(node, []).append(callee.function)

    def sites(self, function: Function) -> list[Site]:
        """The calls that may run the function."""
        return self._sites.get(function, [])

    def callees(self, call: ast.Call) -> list[Function]:
        """The project's functions that a call may run."""
        return self._callees.get(call, [])

    def above(self, function: Function) -> frozenset[Function]:
        """The function, the functions around it, and everything that calls any of them."""
        if function not in self._above:
            seen = {function}
            stack = [function]
            while stack:
                here = stack.pop()
                outer = {site.caller for site in self.sites(here)}
                if here.enclosing is not None and here.enclosing.symbol:
                    outer.add(here.enclosing)
                stack += outer - seen
                seen |= outer
            self._above[function] = frozenset(seen)
        return self._above[function]
