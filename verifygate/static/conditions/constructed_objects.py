"""What the objects of a class, as the project constructs them, say about a branch of its methods.

Where `__init__` says `self.from_logits = from_logits`, each `Loss(from_logits=False)` decides `if self.from_logits:`,
and `Loss()` does so by the default of the parameter.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from verifygate.static.conditions.path_conditions import PathConditions
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Class, Function
from verifygate.static.values.call_graph import CallGraph
from verifygate.static.values.domain import Bound, Frame, Object
from verifygate.static.values.evaluator import Evaluator


class Construction(StrEnum):
    """Whether the objects that are constructed come to a place."""

    NEVER = "never"
    """Objects are found, and each of them takes another way."""
    SOME_NEVER = "some never"
    """Some of them do, and of others it is not known."""
    OPEN = "open"
    """None is found, or none is known to take another way."""


class ConstructedObjects:
    """Answers for the methods of one set of modules. What a test constructs does not count."""

    def __init__(self, evaluator: Evaluator, conditions: PathConditions, call_graph: CallGraph) -> None:
        self._evaluator = evaluator
        self._conditions = conditions
        self._call_graph = call_graph

    def come_to(self, place: Location) -> Construction:
        """Whether the conditions at a place in a method hold in the objects that are constructed."""
        function = place.function
        leaves = list(self._conditions.leaves(place)) if function.owner is not None else []
        if function.owner is None or not leaves:
            return Construction.OPEN
        others = [
            any(self._evaluator.truth(test, frame) is (not holds) for test, holds in leaves)
            for frame in self._frames(function, function.owner)
        ]
        if not any(others):
            return Construction.OPEN
        return Construction.NEVER if all(others) else Construction.SOME_NEVER

    def _frames(self, method: Function, owner: Class) -> Iterator[Frame]:
        """The method, as it runs on each of the objects that are constructed of its class or one below it."""
        for made in (owner, *self._evaluator.below(owner)):
            line = self._evaluator.linearised(made)
            constructor = next((each.methods["__init__"] for each in line if "__init__" in each.methods), None)
            for site in self._call_graph.sites(constructor) if constructor is not None else ():
                home = self._evaluator.root_frame(site.caller)
                values = self._evaluator.values(site.call, home)
                constructs = any(isinstance(each, Object) and each.made is made for each in values)
                if constructs and not site.caller.module.file.is_test:
                    yield Frame(method, receiver=Bound(site.call, home), receiver_class=made)
