"""The lattice of values: joins of several into one, what decisions leave of a value, and where sets are cut."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any

from verifygate.static.machine.values import (
    ABSENT,
    NO_DECISIONS,
    Atom,
    Decision,
    Decisions,
    Items,
    OneOf,
    Tensor,
    Tuple,
    Unknown,
    Value,
)

EQUALS = " == "
"""What stands between an option and its value in a test."""
MOST_VALUES = 8
"""As many values are kept apart for one variable; more become a typed unknown."""


def cases(value: Value) -> tuple[tuple[Atom, Decisions], ...]:
    """The atoms of a value, each with its decisions."""
    return value.cases if isinstance(value, OneOf) else ((value, NO_DECISIONS),)


def atoms(value: Value) -> tuple[Atom, ...]:
    """The atoms of a value."""
    if isinstance(value, OneOf):
        return tuple(atom for atom, _ in value.cases)
    return (value,)


def contradict(one: Decisions, other: Decisions) -> bool:
    """Whether no run can have made all of these decisions: a test came out both ways, or an option has two values."""
    if not one or not other:
        return False
    if any(Decision(test, not holds) in other for test, holds in one):
        return True
    values = {test.partition(EQUALS)[0]: test for test, holds in one if holds and EQUALS in test}
    return any(
        holds and EQUALS in test and values.get(test.partition(EQUALS)[0], test) != test for test, holds in other
    )


def joined(values: Iterable[Value]) -> Value:
    """One value for all of these; there is at least one."""
    result: Value | None = None
    for value in values:
        result = value if result is None else join(result, value)
    return result if result is not None else ABSENT


def join(one: Value, other: Value, when: Decisions = NO_DECISIONS, otherwise: Decisions = NO_DECISIONS) -> Value:
    """What is one value or the other: the one under the decisions `when`, the other under `otherwise`."""
    if one is other or one == other:
        return one
    found: dict[Atom, Decisions] = {}
    for value, decided in ((one, when), (other, otherwise)):
        for atom, under in cases(value):
            both = under if contradict(under, decided) else under | decided
            found[atom] = found[atom] & both if atom in found else both
    return _of(found)


def _of(found: dict[Atom, Decisions]) -> Value:
    found = _merged(found)
    if len(found) == 1:
        return next(iter(found))
    if len(found) > MOST_VALUES:
        return _cut(list(found))
    return OneOf(tuple(found.items()))


def _merged(found: dict[Atom, Decisions]) -> dict[Atom, Decisions]:
    """The same with one atom for tensors, tuples and contents that no decision keeps apart."""
    result: dict[Atom, Decisions] = {}
    for atom, decided in found.items():
        partner = next(
            (
                each
                for each, under in result.items()
                if each.__class__ is atom.__class__
                and each.__class__ in _MERGING
                and (not contradict(under, decided) or each.__class__ is Items)
            ),
            None,
        )
        if partner is not None:
            under = result.pop(partner)
            atom, decided = _MERGING[atom.__class__](partner, atom), under & decided
        result[atom] = result[atom] & decided if atom in result else decided
    return result


def joined_tensors(one: Tensor, other: Tensor) -> Tensor:
    """One tensor for both."""
    known = bool(one.dtypes and other.dtypes)
    return Tensor(
        one.dtypes | other.dtypes if known else frozenset(),
        one.device if one.device == other.device else "",
        one.graph if one.graph == other.graph else None,
        one.parameters | other.parameters,
        one.is_parameter and other.is_parameter,
        one.scaled_by | other.scaled_by,
        one.rounded | other.rounded | (frozenset() if known else one.dtypes | other.dtypes),
        one.is_loss or other.is_loss,
        one.known if one.known == other.known else None,
        one.place or other.place,
        one.reason or other.reason,
        one.count if one.count == other.count else None,
        one.largest if one.largest == other.largest else None,
    )


def joined_items(one: Items, other: Items) -> Items:
    """Contents that are the one or the other: what both may have under a key, and a rest of all else."""
    shared: dict[Hashable, Value] = {}
    left = [each.rest for each in (one, other) if each.rest is not None]
    for mine, theirs in ((one, other), (other, one)):
        for key, value in zip(mine.keys, mine.values, strict=True):
            against = theirs.get(key) or theirs.rest
            if against is None:
                left.append(value)
            elif key not in shared:
                shared[key] = join(value, against)
    return Items(tuple(shared), tuple(shared.values()), joined(left) if left else None)


def joined_tuples(one: Tuple, other: Tuple) -> Tuple:
    """One tuple for both."""
    return Tuple(joined_items(one.items, other.items), one.names if one.names == other.names else ())


def _cut(atoms: list[Atom]) -> Value:
    """A typed unknown that keeps what all of these share."""
    classes = {getattr(atom, "cls", None) for atom in atoms}
    cls = classes.pop() if len(classes) == 1 else None
    kinds = sorted({type(atom).__name__.lower() for atom in atoms})
    return Unknown(f"one of more than {MOST_VALUES} values ({', '.join(kinds)})", None, cls)


def under(value: Value, decisions: Decisions) -> Value:
    """What is left of a value where these decisions were made."""
    if not isinstance(value, OneOf) or not decisions:
        return value
    left = [(atom, when) for atom, when in value.cases if not when or not contradict(when, decisions)]
    if len(left) == 1:
        return left[0][0]
    return OneOf(tuple(left)) if left and len(left) < len(value.cases) else value


def forget(value: Value, tests: frozenset[str]) -> Value:
    """The same value without the decisions of tests whose outcome is another one from here on."""
    if not isinstance(value, OneOf) or not any(each.test in tests for _, when in value.cases for each in when):
        return value
    found: dict[Atom, Decisions] = {}
    for atom, when in value.cases:
        left = frozenset(each for each in when if each.test not in tests)
        found[atom] = found[atom] & left if atom in found else left
    return _of(found)


_MERGING: dict[type[Any], Callable[[Any, Any], Atom]] = {
    Tensor: joined_tensors,
    Items: joined_items,
    Tuple: joined_tuples,
}
