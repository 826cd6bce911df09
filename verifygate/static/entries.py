"""What the project's own calls pass to a function that is looked at by itself."""

from __future__ import annotations

import ast
from functools import cached_property
from typing import TYPE_CHECKING

from verifygate.static.program import Function, calls_by_name
from verifygate.static.values import Frame

if TYPE_CHECKING:
    from verifygate.static.evaluate import Evaluator


class Entries:
    """Finds, for a function entered from nowhere in particular, the frames in which the project's calls enter it."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._known: dict[Function, list[Frame]] = {}

    def of(self, function: Function) -> list[Frame]:
        """The function as each of the calls that pass it something enters it."""
        if function in self._known:
            return self._known[function]
        evaluator, found = self._evaluator, []
        cuts = evaluator.cuts
        for call, caller in self._sites.get(function.name, ()):
            if not (call.args or call.keywords) or not self._may_lead(call, function, caller):
                continue
            home = evaluator.root_frame(caller)
            callees = [callee for callee in evaluator.callees(call, home) if callee.function is function]
            found += [entered for callee in callees if (entered := evaluator.enter(callee, call, home)) is not None]
        if evaluator.cuts == cuts:  # else inside a cycle: asked from elsewhere there may be more
            self._known[function] = found
        return found

    @cached_property
    def _sites(self) -> dict[str, list[tuple[ast.Call, Function]]]:
        return calls_by_name(self._evaluator.modules)

    def _may_lead(self, call: ast.Call, function: Function, caller: Function) -> bool:
        """Whether `a.b.function(...)` can be about a function of a module: not where `a` is no import."""
        base = call.func
        if function.owner is not None or not isinstance(base, ast.Attribute):
            return True
        while isinstance(base, ast.Attribute):
            base = base.value
        if not isinstance(base, ast.Name):
            return False
        found = self._evaluator.lookup(base.id, self._evaluator.root_frame(caller))
        return found is not None and any(binding.kind in ("module", "member") for binding in found[0])
