"""Which conditions hold where something stands, and whether one run may come to two places."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import combinations

from verifygate.base.records import record
from verifygate.static.amp.roles import Roles
from verifygate.static.conditions.normal_form import expand, fact_of
from verifygate.static.conditions.optional_objects import asked_of
from verifygate.static.conditions.predicates import Predicate, outcome
from verifygate.static.symbols.enclosing import EnclosingNodes
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.traversal import is_none, walk
from verifygate.static.values.domain import Frame

_LEAVES = ast.Return | ast.Raise | ast.Continue | ast.Break


class PathConditions:
    """Answers for every place; what a condition is made of counts, not how it is written."""

    def __init__(self, roles: Roles, nesting: EnclosingNodes) -> None:
        self._roles = roles
        self._nesting = nesting
        self._known: dict[tuple[ast.AST, Function], dict[str, _Fact]] = {}

    def agree(self, one: Location, other: Location) -> bool:
        """Whether no condition of one place denies one of the other: they may stand in one run."""
        here, there = self._facts(one), self._facts(other)
        return not any(
            _lasts(each.asked, one, other) and _lasts(also.asked, one, other)
            for key, each in here.items()
            for also in ([there[key]] if key in there else there.values() if each.atom and each.atom.among else ())
            if each.denies(also)
        )

    def all_agree(self, *places: Location) -> bool:
        """Whether one run may come to all of some places: of no two does a condition of one deny one of the other."""
        return all(self.agree(one, other) for one, other in combinations(dict.fromkeys(places), 2))

    def leaves(self, place: Location) -> Iterator[tuple[ast.expr, bool]]:
        """The conditions that hold at a place, without `and`, `or` and `not`, and how they come out."""
        for test, holds in self.conditions(place):
            yield from _leaves(test, holds)

    def conditions(self, place: Location) -> Iterator[tuple[ast.expr, bool]]:
        """The conditions around a place, and those that it comes behind: assertions, and what would have left."""
        yield from self._nesting.conditions(place.node, place.function)
        inner = place.node
        for around in self._nesting.around(place.node, place.function):
            for before in self._nesting.tests_before(inner, around):
                if isinstance(before, ast.Assert):
                    yield before.test, True
                elif isinstance(before.body[-1], _LEAVES):
                    yield before.test, False
            inner = around.node

    def _facts(self, place: Location) -> dict[str, _Fact]:
        """What holds at a place, worked out once: it is compared with many others."""
        key = (place.node, place.function)
        if key not in self._known:
            self._known[key] = self._found(place)
        return self._known[key]

    def _found(self, place: Location) -> dict[str, _Fact]:
        """What holds at a place: each condition as it is written, and what is in it in canonical form."""
        found = {f"written: {id(test)}": _Fact(None, None, holds) for test, holds in self.conditions(place)}
        for leaf, frame, holds in (*self._asked(place), *self._of_receiver(place)):
            atom, asked = fact_of(leaf, frame, self._roles)
            if not atom.opaque:
                found.setdefault(atom.key, _Fact(leaf, atom, holds is asked))
        return found

    def _asked(self, place: Location) -> Iterator[tuple[ast.expr, Frame, bool]]:
        """The conditions that hold at a place, and where one asks whether an object is there, when that is made."""
        frame = self._roles.evaluator.root_frame(place.function)
        for leaf, holds in self.leaves(place):
            yield leaf, frame, holds
            asked, home = expand(leaf, frame, self._roles)
            yield from self._made(asked, home, holds)

    def _of_receiver(self, place: Location) -> Iterator[tuple[ast.expr, Frame, bool]]:
        """When the object is made whose method a place calls: None has no methods."""
        match place.node:
            case ast.Call(func=ast.Attribute(value=ast.Name() | ast.Attribute() as receiver)):
                yield from self._made(receiver, self._roles.evaluator.root_frame(place.function), True)

    def _made(self, asked: ast.expr, frame: Frame, holds: bool) -> Iterator[tuple[ast.expr, Frame, bool]]:
        """What decides whether an object is there, as it comes out where a condition on the object comes out so."""
        made_if = asked_of(asked, frame, self._roles)
        if made_if is not None:
            yield from ((leaf, made_if.frame, came) for leaf, came in _leaves(made_if.expr, holds))
        name, there = _asked_to_be_there(asked)
        if name and there is holds:
            for test, came in self._held_where_made(name, frame.function):
                yield from ((leaf, frame, also) for leaf, also in _leaves(test, came))

    def _held_where_made(self, name: str, function: Function) -> list[tuple[ast.expr, bool]]:
        """The conditions under which a function binds a variable to an object, where it else binds it to None only."""
        bindings = function.scope.names.get(name, ())
        given = [each.expr for each in bindings if each.kind == "value" and each.expr is not None]
        if len(given) < len(bindings):
            return []
        choices = [each for expr in given for each in _choices(expr)]
        made = [each for each in choices if not is_none(each)]
        if len(made) != 1 or len(choices) == 1:
            return []
        return self._nesting.conditions(made[0], function)


def _asked_to_be_there(asked: ast.expr) -> tuple[str, bool]:
    """The variable of which a condition asks whether it is None, and how the condition comes out where it is not."""
    match asked:
        case ast.Name(id=name):
            return name, True
        case ast.Compare(left=ast.Name(id=name), ops=[op], comparators=[ast.Constant(value=None)]):
            return name, isinstance(op, ast.IsNot | ast.NotEq)
    return "", False


def _choices(expr: ast.expr) -> list[ast.expr]:
    """What a conditional expression may give."""
    return [*_choices(expr.body), *_choices(expr.orelse)] if isinstance(expr, ast.IfExp) else [expr]


@record
class _Fact:
    """What is known where something stands."""

    asked: ast.expr | None
    """The condition in the source; None where it is the very same one that is compared."""
    atom: Predicate | None
    holds: bool

    def denies(self, other: _Fact) -> bool:
        """Whether both cannot be known in one run."""
        if self.atom is None or other.atom is None:
            return self.atom is other.atom and self.holds is not other.holds
        came = outcome(other.atom, (self.atom, self.holds))
        return came is not None and came is not other.holds


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
