"""Names by which a class may be constructed, so that no other call has to be evaluated."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from verifygate.static.symbols.program import Class, Function
from verifygate.static.syntax.names import simple_name

if TYPE_CHECKING:
    from verifygate.static.values.evaluation import Evaluation


class ConstructorNames:
    """Goes by names alone, those of imports among them: what a call really runs is asked of the few that are left."""

    def __init__(self, evaluator: Evaluation) -> None:
        self._evaluator = evaluator
        self._known: dict[Class, tuple[Sequence[str], frozenset[str]]] = {}

    def names(self, made: Class) -> Sequence[str]:
        """The names of the class, of classes that take its constructor over, and of the constructor itself."""
        return self._of(made)[0]

    def may_be_above(self, made: Class, caller: Function) -> bool:
        """Whether a function is a method of a class that may derive from this one, and may call its constructor."""
        return caller.owner is not None and caller.owner.node.name in self._of(made)[1]

    def _of(self, made: Class) -> tuple[Sequence[str], frozenset[str]]:
        if made not in self._known:
            called, heirs = [made.node.name], {made.node.name}
            queue = [made.node.name]
            while queue:
                name = queue.pop()
                called += self._aliases.get(name, ())
                for heir in (each for alias in (name, *self._aliases.get(name, ())) for each in self._heirs[alias]):
                    if heir.node.name in heirs:
                        continue
                    heirs.add(heir.node.name)
                    queue.append(heir.node.name)
                    if "__init__" not in heir.methods:
                        called.append(heir.node.name)
            self._known[made] = tuple(dict.fromkeys([*called, "__init__"])), frozenset(heirs)
        return self._known[made]

    @cached_property
    def _heirs(self) -> dict[str, list[Class]]:
        """Last name of a base, as written -> the classes that name it."""
        found: dict[str, list[Class]] = defaultdict(list)
        for module in self._evaluator.modules:
            for made in module.classes.values():
                for base in made.node.bases:
                    found[simple_name(base)].append(made)
        return found

    @cached_property
    def _aliases(self) -> dict[str, list[str]]:
        """Name of something imported -> other names that it is imported by."""
        found: dict[str, list[str]] = defaultdict(list)
        for module in self._evaluator.modules:
            for name, bindings in module.body.scope.names.items():
                for binding in bindings:
                    own = binding.target.rpartition(":")[2]
                    if binding.kind == "member" and own != name and name not in found[own]:
                        found[own].append(name)
        return found
