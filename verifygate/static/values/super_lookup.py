"""Evaluate `super()`: the object at hand, with the classes that follow the method's own in resolution order."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from verifygate.static.symbols.program import Class
from verifygate.static.values.domain import Bound, ClassValue, Frame, Object

if TYPE_CHECKING:
    from verifygate.static.values.evaluation import Evaluation


def merged(orders: Sequence[Sequence[Class]]) -> list[Class]:
    """Merge the resolution orders of base classes by C3, as Python does: D(B, C) of A(...) is D, B, C, A.

    Where they contradict each other, and Python would raise, the first goes first.
    """
    if len(orders) == 2 and len(orders[-1]) < 2:  # of one base: what that asks
        return [*orders[0]]
    found: list[Class] = []
    rest = [[*order] for order in orders if order]
    while rest:
        later = {made for order in rest for made in order[1:]}
        head = next((order[0] for order in rest if order[0] not in later), rest[0][0])
        found.append(head)
        rest = [left for order in rest if (left := [made for made in order if made is not head])]
    return found


class SuperLookup:
    """Finds, for a call of `super`, the classes in which it looks a name up."""

    def __init__(self, evaluator: Evaluation) -> None:
        self._evaluator = evaluator

    def of(self, call: ast.Call, frame: Frame) -> Iterator[tuple[tuple[Class, ...], Bound, Class]]:
        """The classes that it asks, nearest first, the object and its class: once for each that it may be of.

        Which they are depends on the object: in a class that is mixed into others, what comes behind it there.
        """
        evaluator = self._evaluator
        for owner, receiver in self._asked(call, frame):
            for value in evaluator.values(receiver.expr, receiver.frame):
                if isinstance(value, Object):
                    order = evaluator.linearised(value.made)
                    yield order[order.index(owner) + 1 :] if owner in order else (), receiver, value.made

    def _asked(self, call: ast.Call, frame: Frame) -> Iterator[tuple[Class, Bound]]:
        """The class behind which it looks, and the object, as written (`super(Trainer, self)`) or as meant."""
        match call.args:
            case [of_class, receiver]:
                for value in self._evaluator.values(of_class, frame):
                    if isinstance(value, ClassValue):
                        yield value.made, Bound(receiver, frame)
            case []:
                here: Frame | None = frame
                while here is not None and here.function.owner is None:
                    here = here.enclosing  # in a function inside a method
                method = here.function if here is not None else None
                if method is not None and method.owner is not None and method.parameters:
                    this = ast.copy_location(ast.Name(method.parameters[0].arg, ast.Load()), call)
                    yield method.owner, Bound(this, here)  # type: ignore[arg-type]
