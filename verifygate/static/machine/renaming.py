"""Renaming: what an earlier call has read against what the call at hand would read, address by address.

Two calls of a function do the same where what they read has the same shape: an object for each object, the same one
where it was the same one. Values are matched in the order in which they were read, and each address is bound to one
other. What the earlier call made gets the addresses that this call would give it.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from verifygate.static.machine.store import Cell
from verifygate.static.machine.values import (
    Address,
    Bound,
    Code,
    Condition,
    Container,
    Context,
    Decision,
    Decisions,
    Descriptor,
    FunctionValue,
    Generator,
    Items,
    LibraryMethod,
    Object,
    OneOf,
    Part,
    Partial,
    Place,
    Super,
    Tensor,
    Tuple,
    Unknown,
    Value,
    Wrapped,
)


class Renaming:
    """From the addresses, and the tests, of an earlier call to those of the call at hand."""

    def __init__(
        self,
        of: Context,
        to: Context,
        outer: dict[Address, Address | None],
        is_inside: Callable[[Place], bool],
    ) -> None:
        self.of = of
        self.to = to
        self.outer = outer
        self.bound: dict[Address, Address] = {}
        self.taken: dict[Address, Address] = {}
        self.tests: dict[str, str] = {}
        self.unknowns: dict[Unknown, Unknown] = {}
        self.contexts: dict[Context, Context | None] = {of: to}
        self.places: dict[Place, Place] = {}
        """Where tensors that were read got their dtype."""
        self.is_inside = is_inside
        """Whether what the call makes may be from a place."""
        self.moves_places = False

    @property
    def is_elsewhere(self) -> bool:
        """Whether an address is another one here."""
        return self.of is not self.to or any(one is not other for one, other in self.bound.items())

    @property
    def is_needed(self) -> bool:
        """Whether anything has another name here."""
        return (
            self.of is not self.to
            or bool(self.unknowns)
            or self.moves_places
            or any(one is not other for one, other in self.bound.items())
        )

    # -- matching ------------------------------------------------------------------------------------------------

    def bind(self, one: Address, other: Address) -> bool:
        """Let an address stand for another; tells whether that can be."""
        known = self.bound.get(one)
        if known is not None:
            return known is other
        if one.context is None or other.context is None:
            return one is other
        if other in self.taken or (self.is_made(one) and other is not self.moved(one)):
            return False
        self.bound[one] = other
        self.taken[other] = one
        if isinstance(one.site, Code):
            return self._bind_frames(one, other)
        return True

    def _bind_frames(self, one: Address, other: Address) -> bool:
        """Of a function's variables: those of the functions around it as well."""
        if one.site is not other.site:
            return False
        mine, theirs = self.outer.get(one), self.outer.get(other)
        if mine is None or theirs is None:
            return mine is theirs
        return self.bind(mine, theirs)

    def here(self, address: Address) -> Address | None:
        """Where to look for what the earlier call has read at an address: None where two of its would be one."""
        found = self.bound.get(address)
        if found is not None:
            return found
        moved = self.moved(address)
        if moved in self.taken:
            return None
        self.bound[address] = moved
        self.taken[moved] = address
        return moved

    def matches(self, one: Value, other: Value) -> bool:
        """Whether a value is what another one was. Two of different addresses match where these can be bound."""
        kind = one.__class__
        if kind is not other.__class__:
            return False
        match = _MATCHES.get(kind)
        return one is other or one == other if match is None else match(self, one, other)

    def all_match(self, some: tuple[Value, ...], others: tuple[Value, ...]) -> bool:
        if len(some) != len(others):
            return False
        return all(map(self.matches, some, others))

    def cells_match(self, one: Cell, other: Cell) -> bool:
        """The same for all fields of an object, in their order."""
        return list(one) == list(other) and all(map(self.matches, one.values(), other.values()))

    def _unknowns(self, one: Unknown, other: Unknown) -> bool:
        """Of what is not known, nothing hangs on the reason."""
        if one is other:
            return True
        if one.cls != other.cls or one.role != other.role:
            return False
        if one != other:
            self.unknowns.setdefault(one, other)
        return True

    def _addresses(self, some: frozenset[Address], others: frozenset[Address]) -> bool:
        """Sets: what is bound is the same, and one that is not may be bound to the one that is left."""
        if len(some) != len(others):
            return False
        left = set(others)
        open_: list[Address] = []
        for each in some:
            known = self.bound.get(each)
            if known is None and (each.context is None or each in others):
                known = each
            if known is None:
                open_.append(each)
            elif known not in left:
                return False
            else:
                left.discard(known)
                if not self.bind(each, known):
                    return False
        return not open_ or (len(open_) == 1 and self.bind(open_[0], next(iter(left))))

    def _places(self, one: Place | None, other: Place | None) -> bool:
        """Let a place stand for another, unless either is one of the call's own."""
        if one is None or other is None:
            return one is other
        if self.places.setdefault(one, other) != other:
            return False
        if one == other:
            return True
        self.moves_places = True
        return not self.is_inside(one) and not self.is_inside(other)

    def _tensors(self, one: Tensor, other: Tensor) -> bool:
        if not self._places(one.place, other.place):
            return False
        if one == other and not one.parameters and not one.scaled_by and not one.is_parameter:
            return True
        if _plain(one) != _plain(other) or (one.is_parameter and one.place != other.place):
            return False
        conditions = {each.condition for each in (*one.parameters, *other.parameters)}
        for condition in conditions:
            some = frozenset(each.module for each in one.parameters if each.condition == condition)
            if not self._addresses(some, frozenset(e.module for e in other.parameters if e.condition == condition)):
                return False
        return self._addresses(one.scaled_by, other.scaled_by)

    def _functions(self, one: FunctionValue, other: FunctionValue) -> bool:
        if one.code is not other.code or one.owner is not other.owner or not self.bind(one.frame, other.frame):
            return False
        if one.defaults is other.defaults and not one.defaults:
            return True
        return self._named(one.defaults, other.defaults)

    def _named(self, some: tuple[tuple[str, Value], ...], others: tuple[tuple[str, Value], ...]) -> bool:
        if len(some) != len(others):
            return False
        return all(
            name == called and self.matches(value, given)
            for (name, value), (called, given) in zip(some, others, strict=True)
        )

    def _cases(self, one: OneOf, other: OneOf) -> bool:
        if len(one.cases) != len(other.cases):
            return False
        return all(
            when == under and self.matches(value, given)
            for (value, when), (given, under) in zip(one.cases, other.cases, strict=True)
        )

    def _partials(self, one: Partial, other: Partial) -> bool:
        return (
            self.matches(one.function, other.function)
            and self.all_match(one.positional, other.positional)
            and self._named(one.keywords, other.keywords)
        )

    def _items(self, one: Items, other: Items) -> bool:
        if one.keys != other.keys or (one.rest is None) is not (other.rest is None):
            return False
        return self.all_match(one.all, other.all)

    def _generators(self, one: Generator, other: Generator) -> bool:
        if one.is_manager is not other.is_manager or one.context.site != other.context.site:
            return False
        return self._functions(one.function, other.function) and self._named(one.arguments, other.arguments)

    def _descriptors(self, one: Descriptor, other: Descriptor) -> bool:
        if one.kind != other.kind or not self.matches(one.function, other.function):
            return False
        if one.setter is None or other.setter is None:
            return one.setter is other.setter
        return self.matches(one.setter, other.setter)

    # -- renaming ------------------------------------------------------------------------------------------------

    def is_made(self, address: Address) -> bool:
        """Whether an address is one that the earlier call gave."""
        return address.context is not None and self._context(address.context) is not None

    def moved(self, address: Address) -> Address:
        """What stands here for an address that was not read."""
        if address.context is None or self.of is self.to:
            return address
        context = self._context(address.context)
        return address if context is None else Address(address.site, context, address.place)

    def _context(self, context: Context) -> Context | None:
        """The chain of calls here for one below the earlier call; None for one that is not below it."""
        if context in self.contexts:
            return self.contexts[context]
        found = None
        if context.depth > self.of.depth and context.caller is not None:
            above = self._context(context.caller)
            found = above.child(context.site) if above is not None else None
        self.contexts[context] = found
        return found

    def address(self, address: Address) -> Address:
        found = self.bound.get(address)
        return self.moved(address) if found is None else found

    def test(self, test: str) -> str:
        return self.tests.get(test, test)

    def decisions(self, of: Decisions) -> Decisions:
        if not self.tests or not of:
            return of
        return frozenset(Decision(self.test(each.test), each.holds) for each in of)

    def value(self, value: Value) -> Value:
        """A value of the earlier call, as this one has it."""
        rename = _RENAMES.get(value.__class__)
        return value if rename is None else rename(self, value)

    def values(self, values: tuple[Value, ...]) -> tuple[Value, ...]:
        return tuple(self.value(each) for each in values)

    def cell(self, cell: Cell) -> Cell:
        return {name: self.value(value) for name, value in cell.items()}

    def place(self, place: Place | None) -> Place | None:
        return None if place is None else self.places.get(place, place)

    def _tensor(self, value: Tensor) -> Value:
        if not value.parameters and not value.scaled_by and not self.moves_places:
            return value
        return Tensor(
            value.dtypes,
            value.device,
            value.graph,
            frozenset(Part(self.address(each.module), each.condition) for each in value.parameters),
            value.is_parameter,
            frozenset(self.address(each) for each in value.scaled_by),
            value.rounded,
            value.is_loss,
            value.known,
            self.place(value.place),
            value.reason,
            value.count,
            value.largest,
        )

    def _function(self, value: FunctionValue) -> FunctionValue:
        return FunctionValue(value.code, self.address(value.frame), self._pairs(value.defaults), value.owner)

    def _pairs(self, pairs: tuple[tuple[str, Value], ...]) -> tuple[tuple[str, Value], ...]:
        return tuple((name, self.value(value)) for name, value in pairs)

    def _items_of(self, value: Items) -> Items:
        return Items(value.keys, self.values(value.values), None if value.rest is None else self.value(value.rest))

    def _one_of(self, value: OneOf) -> Value:
        cases: Any = tuple((self.value(atom), self.decisions(when)) for atom, when in value.cases)
        return OneOf(cases)

    def _generator(self, value: Generator) -> Generator:
        context = self._context(value.context) or value.context
        return Generator(self._function(value.function), self._pairs(value.arguments), context, value.is_manager)

    def _descriptor(self, value: Descriptor) -> Descriptor:
        setter = None if value.setter is None else self.value(value.setter)
        return Descriptor(value.kind, self.value(value.function), setter)


_plain = attrgetter("dtypes", "device", "graph", "is_parameter", "rounded", "is_loss", "known", "count", "largest")
_MATCHES: dict[type[Any], Callable[[Renaming, Any, Any], bool]] = {
    Object: lambda of, one, other: of.bind(one.address, other.address) and one.cls == other.cls,
    Container: lambda of, one, other: one.kind == other.kind and of.bind(one.address, other.address),
    Tensor: Renaming._tensors,
    FunctionValue: Renaming._functions,
    OneOf: Renaming._cases,
    Items: Renaming._items,
    Tuple: lambda of, one, other: one.names == other.names and of._items(one.items, other.items),
    Bound: lambda of, one, other: of.matches(one.function, other.function) and of.matches(one.receiver, other.receiver),
    LibraryMethod: lambda of, one, other: (
        one.owner == other.owner and one.name == other.name and of.matches(one.receiver, other.receiver)
    ),
    Descriptor: Renaming._descriptors,
    Wrapped: lambda of, one, other: of.matches(one.function, other.function) and of.matches(one.manager, other.manager),
    Partial: Renaming._partials,
    Super: lambda of, one, other: one.after is other.after and of.matches(one.receiver, other.receiver),
    Generator: Renaming._generators,
    Unknown: Renaming._unknowns,
}
_RENAMES: dict[type[Any], Callable[[Renaming, Any], Value]] = {
    Object: lambda of, value: Object(of.address(value.address), value.cls),
    Container: lambda of, value: Container(of.address(value.address), value.kind),
    Tensor: Renaming._tensor,
    FunctionValue: Renaming._function,
    OneOf: Renaming._one_of,
    Items: Renaming._items_of,
    Tuple: lambda of, value: Tuple(of._items_of(value.items), value.names),
    Bound: lambda of, value: Bound(of.value(value.function), of.value(value.receiver)),
    LibraryMethod: lambda of, value: LibraryMethod(value.owner, value.name, of.value(value.receiver)),
    Descriptor: Renaming._descriptor,
    Wrapped: lambda of, value: Wrapped(of.value(value.function), of.value(value.manager)),
    Partial: lambda of, value: Partial(
        of.value(value.function), of.values(value.positional), of._pairs(value.keywords)
    ),
    Super: lambda of, value: Super(value.after, of.value(value.receiver)),
    Generator: Renaming._generator,
    Unknown: lambda of, value: of.unknowns.get(value, value),
    Condition: lambda of, value: Condition(of.test(value.test), value.negated, value.default),
}
