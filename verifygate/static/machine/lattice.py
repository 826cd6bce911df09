"""The lattice of values: joins of several into one, what decisions leave of a value, and where sets are cut."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import lru_cache
from typing import Any

from verifygate.static.machine.values import (
    ABSENT,
    NO_DECISIONS,
    Atom,
    Condition,
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
    return bool(one) and bool(other) and _contradict(one, other)


@lru_cache(maxsize=50_000)
def _contradict(one: Decisions, other: Decisions) -> bool:
    if any(Decision(test, not holds) in other for test, holds in one):
        return True
    values = {test.partition(EQUALS)[0]: test for test, holds in one if holds and EQUALS in test}
    return any(
        holds and EQUALS in test and values.get(test.partition(EQUALS)[0], test) != test for test, holds in other
    )


@lru_cache(maxsize=50_000)
def parting(one: Decisions, other: Decisions) -> tuple[Decisions, Decisions, Decisions]:
    """The decisions that two states have both made, and those by which one and the other are kept apart."""
    common = one & other
    mine, theirs = one - common, other - common
    opposed = {each.test for each in mine} & {each.test for each in theirs}
    if opposed:
        mine = frozenset(each for each in mine if each.test in opposed)
        theirs = frozenset(each for each in theirs if each.test in opposed)
    return common, mine, theirs


def joined(values: Iterable[Value]) -> Value:
    """One value for all of these; there is at least one."""
    result: Value | None = None
    for value in values:
        result = value if result is None else join(result, value)
    return result if result is not None else ABSENT


def join(one: Value, other: Value, when: Decisions = NO_DECISIONS, otherwise: Decisions = NO_DECISIONS) -> Value:
    """What is one value or the other: the one under the decisions `when`, the other under `otherwise`."""
    if one is other:
        return one
    key = (id(one), id(other), when, otherwise)
    known = _JOINS.get(key)
    if known is None:
        if len(_JOINS) >= _MOST_JOINS:
            _JOINS.clear()
        known = _JOINS[key] = (one, other, _join(one, other, when, otherwise))
    return known[2]


def _join(one: Value, other: Value, when: Decisions, otherwise: Decisions) -> Value:
    kind = one.__class__
    if kind is other.__class__ and one == other:
        return one
    if kind is not OneOf and other.__class__ is not OneOf:
        if kind is Unknown and other.__class__ is Unknown and _are_alike(one, other):
            return one
        if kind is other.__class__ and kind in _MERGING and (kind is Items or not contradict(when, otherwise)):
            return _MERGING[kind](one, other)
        return OneOf(((one, when), (other, otherwise)))  # type: ignore[arg-type] # both are atoms
    if other.__class__ is Unknown and not when and not otherwise:
        for atom, under in cases(one):
            if not under and _are_alike(atom, other):
                return one
    found: list[tuple[Atom, Decisions]] = []
    for value, decided in ((one, when), (other, otherwise)):
        for atom, under in cases(value):
            _add(found, atom, under if not decided or contradict(under, decided) else under | decided)
    if kind is OneOf and found == list(one.cases):  # type: ignore[union-attr]
        return one
    return _of(found)


def _are_alike(one: Value, other: Value) -> bool:
    """Whether two are unknowns of which the same is known: one reason is enough."""
    if not isinstance(one, Unknown) or not isinstance(other, Unknown):
        return False
    return one.cls == other.cls and one.role == other.role


def _add(found: list[tuple[Atom, Decisions]], atom: Atom, decided: Decisions) -> None:
    """Let an atom be among several; under two ways to it, what both have decided holds."""
    kind = atom.__class__
    for number, (each, under) in enumerate(found):
        if each is atom or (each.__class__ is kind and (each == atom or _are_alike(each, atom))):
            found[number] = each, under & decided
            return
    found.append((atom, decided))


def _of(found: list[tuple[Atom, Decisions]]) -> Value:
    for atom, _ in found:
        if atom.__class__ in _MERGING:
            found = _merged(found)
            break
    if len(found) == 1:
        return found[0][0]
    if len(found) > MOST_VALUES:
        return _cut([atom for atom, _ in found])
    return OneOf(tuple(found))


def _merged(found: list[tuple[Atom, Decisions]]) -> list[tuple[Atom, Decisions]]:
    """The same with one atom for tensors, tuples and contents that no decision keeps apart."""
    result: list[tuple[Atom, Decisions]] = []
    for atom, decided in found:
        kind = atom.__class__
        if kind in _MERGING:
            for number, (each, under) in enumerate(result):
                if each.__class__ is kind and (kind is Items or not contradict(under, decided)):
                    del result[number]
                    atom, decided = _MERGING[kind](each, atom), under & decided
                    break
        _add(result, atom, decided)
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
    if value.__class__ is not OneOf or not decisions:
        return value
    if value.left is None:
        value.left = {}
    found = value.left.get(decisions)
    if found is None:
        cases = tuple(each for each in value.cases if not each[1] or not contradict(each[1], decisions))
        found = cases[0][0] if len(cases) == 1 else (OneOf(cases) if 0 < len(cases) < len(value.cases) else value)
        value.left[decisions] = found
    return found


def present(value: OneOf) -> Value:
    """The values that are there, of which one may be absent; there is at least one that is not."""
    found = value.present
    if found is None:
        cases = tuple(each for each in value.cases if each[0] is not ABSENT)
        found = value if len(cases) == len(value.cases) else (cases[0][0] if len(cases) == 1 else OneOf(cases))
        value.present = found
    return found


@lru_cache(maxsize=20_000)
def subject_of(test: str) -> str:
    """What a test asks about: `args.dtype` of `args.dtype == 'half'`. The outcome of one may decide others of it."""
    return test.partition(EQUALS)[0]


def subjects_of(value: OneOf) -> frozenset[str]:
    """What the decisions of a value ask about."""
    found = value.subjects
    if found is None:
        found = frozenset(subject_of(each.test) for _, when in value.cases for each in when)
        value.subjects = found
    return found


def forget(value: Value, tests: frozenset[str]) -> Value:
    """The same value without the decisions of tests whose outcome is another one from here on."""
    if not isinstance(value, OneOf):
        return _left(value, tests)
    if not _asks(value, tests):
        return value
    found: list[tuple[Atom, Decisions]] = []
    for atom, when in value.cases:
        _add(found, _left(atom, tests), frozenset(each for each in when if each.test not in tests))
    return _of(found)


def _asks(value: OneOf, tests: frozenset[str]) -> bool:
    """Whether the outcome of one of these tests is among a value's conditions or decisions."""
    for atom, when in value.cases:
        if atom.__class__ is Condition and atom.test in tests:
            return True
        for test, _ in when:
            if test in tests:
                return True
    return False


def _left(atom: Atom, tests: frozenset[str]) -> Atom:
    """An atom where the outcome of these tests is no longer known."""
    return Unknown("a condition on data") if isinstance(atom, Condition) and atom.test in tests else atom


_MERGING: dict[type[Any], Callable[[Any, Any], Atom]] = {
    Tensor: joined_tensors,
    Items: joined_items,
    Tuple: joined_tuples,
}
_MOST_JOINS = 20_000
_JOINS: dict[tuple[int, int, Decisions, Decisions], tuple[Value, Value, Value]] = {}
"""Joins that were made, with their operands, which so keep their identity."""
