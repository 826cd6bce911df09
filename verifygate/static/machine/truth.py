"""Truth: what a value is as a condition, what comparisons give, and which decisions follow from each other."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from verifygate.base.records import record
from verifygate.static.machine.values import (
    FALSE,
    TRUE,
    Atom,
    Condition,
    Constant,
    Container,
    Decision,
    Decisions,
    Items,
    LibraryName,
    OneOf,
    Option,
    Tensor,
    Tuple,
    Unknown,
    Value,
    constant,
)

_UNDECIDED = (Unknown, Tensor)
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
    "Is": lambda one, other: one is other or (one == other and not isinstance(one, str)),
    "IsNot": lambda one, other: not (one is other or (one == other and not isinstance(one, str))),
}
_SIGNS = {"Eq": "==", "NotEq": "!=", "Lt": "<", "LtE": "<=", "Gt": ">", "GtE": ">=", "Is": "is", "IsNot": "is not"}
_OPPOSITES = {"NotEq": "Eq", "IsNot": "Is", "GtE": "Lt", "Gt": "LtE", "NotIn": "In"}


@record
class Truth:
    """How a condition may come out."""

    may_hold: bool = True
    may_fail: bool = True
    test: str = ""
    """The test that decides it; empty where nothing tells one outcome from the next one."""
    negated: bool = False

    def decided(self, holds: bool) -> Decisions:
        """What is decided where the condition comes out so."""
        return frozenset({Decision(self.test, holds is not self.negated)}) if self.test else frozenset()


ALWAYS, NEVER, EITHER = Truth(True, False), Truth(False, True), Truth()


def test_of(value: Option | Condition) -> str:
    """The test that decides an input, or a condition on one."""
    return value.identity if isinstance(value, Option) else value.test


def truth(value: Atom, decisions: Decisions) -> Truth:
    """What one value is as a condition, where some decisions have been made."""
    match value:
        case Constant():
            return ALWAYS if value.value else NEVER
        case Option():
            return _known(Truth(test=value.identity), decisions)
        case Condition():
            return _known(Truth(test=value.test, negated=value.negated), decisions)
        case Tuple(items=Items(keys=keys, rest=rest)):
            return ALWAYS if keys else (NEVER if rest is None else EITHER)
        case Container():
            return EITHER
        case _ if isinstance(value, _UNDECIDED):
            return EITHER
    return ALWAYS


def _known(found: Truth, decisions: Decisions) -> Truth:
    for holds in (True, False):
        if Decision(found.test, holds) in decisions:
            return ALWAYS if holds is not found.negated else NEVER
    alike, _, wanted = found.test.partition(" == ")
    if wanted and any(
        each.holds and each.test != found.test and each.test.startswith(f"{alike} == ") for each in decisions
    ):
        return NEVER if not found.negated else ALWAYS  # it equals something else
    return found


def negated(value: Atom, decisions: Decisions) -> Value:
    """`not value`."""
    found = truth(value, decisions)
    if not (found.may_hold and found.may_fail):
        return FALSE if found.may_hold else TRUE
    if isinstance(value, Condition):
        return Condition(value.test, not value.negated, None if value.default is None else not value.default)
    if isinstance(value, Option):
        return Condition(value.identity, True, None if value.default is None else not value.default.value)
    return Unknown("a condition on data")


def compared(one: Atom, name: str, other: Atom, fresh: str) -> Value:
    """What a comparison gives. `name` is the class of the operator; `fresh` tells this test from all others."""
    if isinstance(one, Constant) and isinstance(other, Constant):
        return _of_constants(one, name, other)
    if name in ("In", "NotIn") and isinstance(other, Tuple) and other.items.rest is None:
        held = [compared(one, "Eq", each, "") for each in other.items.values if not isinstance(each, OneOf)]
        if len(held) == len(other.items.values) and all(isinstance(each, Constant) for each in held):
            return constant((TRUE in held) is (name == "In"))
    for option, against in ((one, other), (other, one)):
        if isinstance(option, Option) and isinstance(against, Constant):
            return _of_option(option, name, against, turned=option is other)
    if name in ("Is", "IsNot", "Eq", "NotEq"):
        if one == other and isinstance(one, LibraryName):
            return constant(name in ("Is", "Eq"))
        if any(isinstance(each, Constant) and each.value is None for each in (one, other)):
            left = other if isinstance(one, Constant) else one
            if not isinstance(left, Unknown | Option | OneOf):
                return constant(name in ("IsNot", "NotEq"))
        if isinstance(one, LibraryName | Constant) and isinstance(other, LibraryName | Constant):
            return constant(name in ("IsNot", "NotEq"))
    if isinstance(one, Tensor) or isinstance(other, Tensor):
        return Unknown("a comparison of tensors")
    return Condition(fresh)


def _of_constants(one: Constant, name: str, other: Constant) -> Value:
    if name in ("In", "NotIn"):
        if isinstance(one.value, str) and isinstance(other.value, str):
            return constant((one.value in other.value) is (name == "In"))
        return Unknown("a condition on data")
    try:
        return constant(bool(_COMPARISONS[name](one.value, other.value)))
    except TypeError:
        return Unknown("a comparison of values of different kinds")


def _of_option(option: Option, name: str, against: Constant, *, turned: bool) -> Value:
    positive = _OPPOSITES.get(name, name)
    if turned and positive in ("Lt", "LtE"):
        return Condition(f"{against.value!r} {_SIGNS[positive]} {option.identity}", name != positive)
    if positive not in _SIGNS:
        return Condition(f"{option.identity} in {against.value!r}", name != positive)
    sign = "==" if positive == "Is" else _SIGNS[positive]
    default = None
    if option.default is not None:
        found = _of_constants(option.default, name, against)
        default = found.value is True if isinstance(found, Constant) else None
    if option.choices and positive == "Eq" and against not in option.choices:
        return constant(name != "Eq")
    return Condition(f"{option.identity} {sign} {against.value!r}", name != positive, default)
