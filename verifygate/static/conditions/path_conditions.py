"""Which conditions hold where something stands, and whether one run may come to two places."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.static.amp.roles import Roles
from verifygate.static.conditions.normal_form import fact_of
from verifygate.static.symbols.enclosing import EnclosingNodes
from verifygate.static.symbols.location import Location
from verifygate.static.syntax.traversal import walk

_LEAVES = ast.Return | ast.Raise | ast.Continue | ast.Break


class PathConditions:
    """Answers for every place; what a condition is made of counts, not how it is written."""

    def __init__(self, roles: Roles, nesting: EnclosingNodes) -> None:
        self._roles = roles
        self._nesting = nesting

    def agree(self, one: Location, other: Location) -> bool:
        """Whether no condition of one place denies one of the other: they may stand in one run."""
        here, there = self._facts(one), self._facts(other)
        denied = {text for text, (_, holds) in there.items() if text in here and here[text][1] is not holds}
        return not any(_lasts(here[text][0], one, other) for text in denied)

    def leaves(self, place: Location) -> Iterator[tuple[ast.expr, bool]]:
        """The conditions that hold at a place, without `and`, `or` and `not`, and how they come out."""
        for test, holds in self.conditions(place):
            yield from _leaves(test, holds)

    def conditions(self, place: Location) -> Iterator[tuple[ast.expr, bool]]:
        """The conditions around a place, and those that it comes behind: assertions, and what would have left."""
        yield from self._nesting.conditions(place.node, place.function)
        inner = place.node
        for around in self._nesting.around(place.node, place.function):
            block = getattr(around.node, around.part)
            for statement in block[: block.index(inner)] if isinstance(block, list) else ():
                if isinstance(statement, ast.Assert):
                    yield statement.test, True
                elif isinstance(statement, ast.If) and isinstance(statement.body[-1], _LEAVES):
                    yield statement.test, False
            inner = around.node

    def _facts(self, place: Location) -> dict[str, tuple[ast.expr | None, bool]]:
        """What holds at a place: each condition as it is written, and what is in it in canonical form."""
        found: dict[str, tuple[ast.expr | None, bool]] = {
            f"written: {id(test)}": (None, holds) for test, holds in self.conditions(place)
        }
        frame = self._roles.evaluator.root_frame(place.function)
        for leaf, holds in self.leaves(place):
            atom, asked = fact_of(leaf, frame, self._roles)
            if not atom.opaque:
                found[atom.key] = leaf, holds is asked
        return found


def _leaves(test: ast.expr, holds: bool) -> Iterator[tuple[ast.expr, bool]]:
    """What is known of the parts of a condition."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield from _leaves(operand, not holds)
        case ast.BoolOp(op=op, values=parts):
            if isinstance(op, ast.And) is holds:
                for part in parts:
                    yield from _leaves(part, holds)
        case _:
            yield test, holds


def _lasts(asked: ast.expr | None, one: Location, other: Location) -> bool:
    """Whether a condition that is asked for at both places has one answer: nothing it names is bound between them."""
    if asked is None or one.function is not other.function:
        return True
    first, last = sorted((one.line, other.line))
    names = {node.id for node in walk(asked) if isinstance(node, ast.Name)}
    bindings = (each for name in names for each in one.function.scope.names.get(name, ()))
    return not any(first < getattr(each.node, "lineno", 0) < last for each in bindings)
