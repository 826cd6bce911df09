"""The store: the fields of every object, and the variables of every frame, at one moment of the run.

It lies in layers, so that a fork costs nothing: what was there is shared, and each of the two writes into a layer of
its own. Who reads is logged, because the outcome of a call is kept by what it has read.
"""

from __future__ import annotations

from collections.abc import Iterator

from verifygate.static.machine.lattice import forget, join, under
from verifygate.static.machine.values import ABSENT, NO_DECISIONS, Address, Decisions, Value

Cell = dict[str, Value]
"""The fields of one object."""
Field = tuple[Address, str]
Reads = dict[Address | Field, Cell | Value | None]
"""What an object or a field held when it was first read; None where something was put there first."""
_NOTHING: Cell = {}
MANY = "#many"
"""The field of an address that stands for several objects: what is written there may be written to another one."""


class Store:
    """Address -> fields."""

    __slots__ = ("_layers", "_own", "logs")

    def __init__(self, layers: tuple[dict[Address, Cell], ...] = (), logs: list[Reads] | None = None) -> None:
        self._own: dict[Address, Cell] = {}
        self._layers = layers
        """What was written before the last fork, newest first. Nobody changes it."""
        self.logs = [] if logs is None else logs
        """Of each call that is watched the cells that it reads; all forks of a store share them."""

    def fork(self) -> Store:
        """Another store that holds the same, from here on by itself."""
        self.freeze()
        return Store(self._layers, self.logs)

    def freeze(self) -> None:
        """Let nobody change the cells that are there: what is written from here on goes into new ones."""
        if self._own:
            self._layers = _pushed(self._own, self._layers)
            self._own = {}

    def fields(self, address: Address) -> Cell:
        """All fields at an address. They are not to be changed."""
        found = self._own.get(address)
        if found is None:
            found = self._below(address)
            if self.logs and address not in self.logs[-1]:
                self.logs[-1][address] = found
        return found

    def read(self, address: Address, name: str) -> Value:
        """One field; ABSENT where it is not there, which is something to know as well."""
        found = self._own.get(address)
        if found is None:
            found = self._below(address)
            if self.logs and address not in self.logs[-1]:
                self.logs[-1].setdefault((address, name), found.get(name, ABSENT))
        return found.get(name, ABSENT)

    def _below(self, address: Address) -> Cell:
        for layer in self._layers:
            found = layer.get(address)
            if found is not None:
                return found
        return _NOTHING

    def write(self, address: Address, name: str, value: Value) -> None:
        """Set one field: for good where the address is one object, else to what it was or this."""
        cell = self._owned(address)
        if MANY in cell and (before := cell.get(name, ABSENT)) is not ABSENT:
            value = join(before, value)
        cell[name] = value

    def remove(self, address: Address, name: str) -> None:
        cell = self._owned(address)
        if MANY not in cell:
            cell.pop(name, None)

    def make(self, address: Address, fields: Cell) -> None:
        """Put a new object at an address. Where one is already, the address stands for both from here on."""
        cell = self._owned(address)
        again = bool(cell)
        for name, value in fields.items():
            cell[name] = join(cell[name], value) if name in cell else value
        if again:
            cell[MANY] = ABSENT

    def drop(self, address: Address) -> None:
        """Forget an object that nothing leads to."""
        if self.logs:
            self.logs[-1].setdefault(address, None)
        if self._own.pop(address, None) is None or any(address in layer for layer in self._layers):
            self._own[address] = {}

    def replace(self, address: Address, fields: Cell) -> None:
        """Let an address hold these fields, and no others."""
        if self.logs:
            self.logs[-1].setdefault(address, None)
        self._own[address] = dict(fields)

    def _owned(self, address: Address) -> Cell:
        cell = self._own.get(address)
        if cell is None:
            cell = self._own[address] = dict(self.fields(address))
        return cell

    def changes(self, since: Store) -> dict[Address, Cell]:
        """The cells that were written since a fork. A layer may hold older ones as well, from before it grew."""
        shared = _shared(self._layers, since._layers)
        written = {address: self._held(address) for address in dict.fromkeys(self._written_since(shared))}
        return {address: dict(cell) for address, cell in written.items() if cell is not since._held(address)}

    def _held(self, address: Address) -> Cell:
        """The fields at an address, read by nobody."""
        found = self._own.get(address)
        return self._below(address) if found is None else found

    def _written_since(self, shared: int) -> Iterator[Address]:
        yield from self._own
        for layer in self._layers[: len(self._layers) - shared]:
            yield from layer

    def joined(self, other: Store, when: Decisions = NO_DECISIONS, otherwise: Decisions = NO_DECISIONS) -> Store:
        """One store for both; what differs is the one under `when` and the other under `otherwise`."""
        shared = _shared(self._layers, other._layers)
        merged: dict[Address, Cell] = {}
        for address in dict.fromkeys((*self._written_since(shared), *other._written_since(shared))):
            mine, theirs = self.fields(address), other.fields(address)
            if mine is theirs or not theirs:
                merged[address] = mine
            elif not mine:
                merged[address] = theirs
            else:
                merged[address] = _joined_cells(mine, theirs, when, otherwise)
        layers = self._layers[len(self._layers) - shared :]
        return Store(_pushed(merged, layers) if merged else layers, self.logs)

    def same_as(self, other: Store) -> bool:
        """Whether both hold the same."""
        shared = _shared(self._layers, other._layers)
        written = {*self._written_since(shared), *other._written_since(shared)}
        return all(
            (mine := self.fields(address)) is (theirs := other.fields(address)) or mine == theirs for address in written
        )

    def differing(self, other: Store) -> list[tuple[Address, str, Value]]:
        """What holds another value here, or is here alone."""
        shared = _shared(self._layers, other._layers)
        written = dict.fromkeys((*self._written_since(shared), *other._written_since(shared)))
        found = []
        for address in written:
            theirs = other.fields(address)
            fields = self.fields(address).items()
            found += [(address, name, value) for name, value in fields if theirs.get(name, ABSENT) != value]
        return found

    def put(self, address: Address, name: str, value: Value) -> None:
        """Set a field, whatever the address stands for."""
        self._owned(address)[name] = value

    def forget(self, tests: frozenset[str], since: Store) -> None:
        """Drop the decisions of these tests from what was written since a fork."""
        shared = _shared(self._layers, since._layers)
        for address in list(dict.fromkeys(self._written_since(shared))):
            for name, value in self.fields(address).items():
                left = forget(value, tests)
                if left is not value:
                    self._owned(address)[name] = left


def _joined_cells(mine: Cell, theirs: Cell, when: Decisions, otherwise: Decisions) -> Cell:
    result = dict(mine)
    for name, value in theirs.items():
        own = mine.get(name, ABSENT)
        if own is not value:
            result[name] = join(own, value, when, otherwise)
    for name, value in mine.items():
        if name not in theirs:
            result[name] = join(value, ABSENT, when, otherwise)
    return result


def _shared(one: tuple[dict[Address, Cell], ...], other: tuple[dict[Address, Cell], ...]) -> int:
    """How many layers both have, counted from the oldest."""
    count = 0
    for mine, theirs in zip(reversed(one), reversed(other), strict=False):
        if mine is not theirs:
            break
        count += 1
    return count


def _pushed(top: dict[Address, Cell], layers: tuple[dict[Address, Cell], ...]) -> tuple[dict[Address, Cell], ...]:
    """One more layer. Those of like size become one, so that there are few, and large ones stay what they are."""
    while layers and 2 * len(top) >= len(layers[0]) and len(layers) > 1:
        top, layers = layers[0] | top, layers[1:]
    return (top, *layers)


class State:
    """One moment of the run: the store, and the decisions that led here."""

    __slots__ = ("decisions", "store")

    def __init__(self, store: Store, decisions: Decisions = NO_DECISIONS) -> None:
        self.store = store
        self.decisions = decisions

    def fork(self) -> State:
        return State(self.store.fork(), self.decisions)

    def read(self, address: Address, name: str) -> Value:
        """A field, as far as the decisions leave it open."""
        return under(self.store.read(address, name), self.decisions)

    def joined(self, other: State) -> State:
        """One state for both: decisions that both have made hold, and the others stay with what differs by them."""
        common = self.decisions & other.decisions
        mine, theirs = self.decisions - common, other.decisions - common
        opposed = {each.test for each in mine} & {each.test for each in theirs}
        if opposed:
            mine = frozenset(each for each in mine if each.test in opposed)
            theirs = frozenset(each for each in theirs if each.test in opposed)
        return State(self.store.joined(other.store, mine, theirs), common)


def join_states(states: list[State]) -> State | None:
    """One state for all; None where there is none."""
    result: State | None = None
    for state in states:
        result = state if result is None else result.joined(state)
    return result
