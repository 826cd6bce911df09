"""The store: the fields of every object, and the variables of every frame, at one moment of the run.

It lies in layers, so that a fork costs nothing: what was there is shared, and each of the two writes into a layer of
its own. What is touched is logged with what it held when the call at hand began, because the outcome of a call is kept
by that (`memo.py`).
"""

from __future__ import annotations

from verifygate.static.machine.lattice import forget, join, parting, subject_of, subjects_of, under
from verifygate.static.machine.values import (
    ABSENT,
    NO_DECISIONS,
    TRUE,
    Address,
    Code,
    Condition,
    Decisions,
    OneOf,
    Value,
)

Cell = dict[str, Value]
"""The fields of one object."""
Layer = dict[Address, Cell]
_NOTHING: Cell = {}
_LAYERS_APART = 4
"""A layer has at least so many times the cells of the one above it."""
_DECIDED = frozenset({Condition, OneOf})
MANY = "#many"
"""The field of an address that stands for several objects: what is written there may be written to another one."""


class Touched:
    """What one call has read or changed, as it was before the call, and what else its outcome hangs on."""

    __slots__ = ("deepest", "entered", "fields", "frames", "modules", "start", "tests", "whole")

    def __init__(self, start: tuple[Layer, ...]) -> None:
        self.start = start
        self.fields: dict[Address, Cell] = {}
        """Single fields of objects that were there."""
        self.whole: dict[Address, Cell] = {}
        """Objects as a whole; empty for those that were not there."""
        self.tests: set[str] = set()
        """What was asked of the decisions: the subjects of tests."""
        self.modules: set[str] = set()
        """Modules that were asked for."""
        self.entered: set[Code] = set()
        self.deepest = 0
        """How many calls were inside each other, from the entry on."""
        self.frames: dict[Address, None] = {}
        """The variables that outlive their function."""

    def touch(self, address: Address, name: str) -> None:
        """Note a field."""
        if address in self.whole:
            return
        known = self.fields.get(address)
        if known is not None and name in known:
            return
        before = _found(self.start, address)
        if not before:
            self.whole[address] = before
        elif known is None:
            self.fields[address] = {name: held(before, name)}
        else:
            known[name] = held(before, name)

    def touch_all(self, address: Address) -> None:
        """Note an object with all its fields, and their order."""
        if address not in self.whole:
            self.whole[address] = _found(self.start, address)

    def ask(self, decisions: Decisions) -> None:
        """Note tests whose outcome matters."""
        for test, _ in decisions:
            self.tests.add(subject_of(test))


def held(cell: Cell, name: str) -> Value:
    """What a field holds; of the mark of several objects, whether it is there."""
    if name == MANY:
        return TRUE if name in cell else ABSENT
    return cell.get(name, ABSENT)


class Store:
    """Address -> fields."""

    __slots__ = ("_layers", "_own", "logs")

    def __init__(self, layers: tuple[Layer, ...] = (), logs: list[Touched] | None = None) -> None:
        self._own: Layer = {}
        self._layers = layers
        """What was written before the last fork, newest first. Nobody changes it."""
        self.logs = [] if logs is None else logs
        """Of each call that is watched what it touches; all forks of a store share them."""

    def fork(self) -> Store:
        """Another store that holds the same, from here on by itself."""
        if self._own:
            self.freeze()
        return Store(self._layers, self.logs)

    def freeze(self) -> None:
        """Let nobody change the cells that are there: what is written from here on goes into new ones."""
        if self._own:
            self._layers = _pushed(self._own, self._layers)
            self._own = {}

    def watch(self) -> Touched:
        """Begin to log what is touched."""
        self.freeze()
        log = Touched(self._layers)
        self.logs.append(log)
        return log

    def fields(self, address: Address) -> Cell:
        """All fields at an address. They are not to be changed."""
        if self.logs:
            self.logs[-1].touch_all(address)
        return self._cell(address)

    def read(self, address: Address, name: str) -> Value:
        """One field; ABSENT where it is not there, which is something to know as well."""
        if self.logs:
            log = self.logs[-1]
            if address not in log.whole:
                known = log.fields.get(address)
                if known is None or name not in known:
                    log.touch(address, name)
        cell = self._own.get(address)
        if cell is None:
            for layer in self._layers:
                cell = layer.get(address)
                if cell is not None:
                    break
            else:
                return ABSENT
        return cell.get(name, ABSENT)

    def peek(self, address: Address) -> Cell:
        """All fields, for who does not go on from what they hold."""
        return self._cell(address)

    def _cell(self, address: Address) -> Cell:
        found = self._own.get(address)
        if found is None:
            for layer in self._layers:
                found = layer.get(address)
                if found is not None:
                    return found
            return _NOTHING
        return found

    def write(self, address: Address, name: str, value: Value) -> None:
        """Set one field: for good where the address is one object, else to what it was or this."""
        self._log_change(address, name)
        cell = self._cell(address)
        before = cell.get(name, ABSENT)
        if before is not ABSENT and MANY in cell:
            value = join(before, value)
        if value is not before or name not in cell:
            self._writable(address, cell)[name] = value

    def remove(self, address: Address, name: str) -> None:
        cell = self._owned(address, name)
        if MANY not in cell:
            cell.pop(name, None)

    def make(self, address: Address, fields: Cell) -> None:
        """Put a new object at an address. Where one is already, the address stands for both from here on."""
        if self.logs:
            self.logs[-1].touch_all(address)
        cell = self._owned(address, MANY)
        again = bool(cell)
        for name, value in fields.items():
            cell[name] = join(cell[name], value) if name in cell else value
        if again:
            cell[MANY] = ABSENT

    def enter(self, address: Address, variables: Cell) -> None:
        """Let a function begin with these variables."""
        if self.logs:
            self.logs[-1].whole.setdefault(address, _NOTHING)
        self._own[address] = dict(variables)

    def leave(self, address: Address) -> None:
        """Forget the variables of a function that has ended, and that nothing leads to."""
        if self.logs:
            self.logs[-1].whole.pop(address, None)
        if self._own.pop(address, None) is None or any(address in layer for layer in self._layers):
            self._own[address] = _NOTHING

    def replace(self, address: Address, fields: Cell) -> None:
        """Let an address hold these fields, and no others."""
        if self.logs:
            self.logs[-1].touch_all(address)
        self._own[address] = dict(fields)

    def _owned(self, address: Address, name: str) -> Cell:
        """The cell to write a field into."""
        self._log_change(address, name)
        return self._writable(address, self._cell(address))

    def _log_change(self, address: Address, name: str) -> None:
        if self.logs:
            log = self.logs[-1]
            if address not in log.whole:
                log.touch(address, name)
                log.touch(address, MANY)

    def _writable(self, address: Address, cell: Cell) -> Cell:
        """The cell that is at an address, or a copy of it that nobody else has."""
        if self._own.get(address) is not cell or cell is _NOTHING:
            cell = self._own[address] = cell.copy()
        return cell

    def changes(self, since: tuple[Layer, ...]) -> dict[Address, Cell]:
        """The fields that were written since a moment, by address; ABSENT for those that are gone."""
        found: dict[Address, Cell] = {}
        for address, now in self._written(_shared(self._layers, since)).items():
            before = _found(since, address)
            if now is before:
                continue
            changed = {name: value for name, value in now.items() if before.get(name) is not value}
            if not before.keys() <= now.keys():
                changed |= dict.fromkeys((name for name in before if name not in now), ABSENT)
            if changed:
                found[address] = changed
        return found

    def change(self, address: Address, changed: Cell) -> None:
        """Write fields as a call that ran before has written them."""
        cell = self._cell(address)
        for name, value in changed.items():
            is_gone = value is ABSENT and name != MANY
            if is_gone is (name not in cell) and (is_gone or cell[name] is value):
                continue
            cell = self._writable(address, cell)
            if is_gone:
                del cell[name]
            else:
                cell[name] = value

    def _written_since(self, shared: int) -> dict[Address, None]:
        own = dict.fromkeys(self._own)
        for layer in self._layers[: len(self._layers) - shared]:
            own.update(dict.fromkeys(layer))
        return own

    def joined(self, other: Store, when: Decisions = NO_DECISIONS, otherwise: Decisions = NO_DECISIONS) -> Store:
        """One store for both; what differs is the one under `when` and the other under `otherwise`."""
        if not self._own and not other._own and self._layers is other._layers:
            return self
        shared = _shared(self._layers, other._layers)
        mine, theirs = self._written(shared), other._written(shared)
        if not mine and not theirs:
            return self
        below = self._layers[len(self._layers) - shared :]
        merged: Layer = {}
        for address, cell in mine.items():
            against = theirs.get(address)
            if against is None:
                against = _found(below, address)
            if cell is against or not against:
                merged[address] = cell
            else:
                merged[address] = _joined_cells(cell, against, when, otherwise) if cell else against
        for address, cell in theirs.items():
            if address not in mine:
                against = _found(below, address)
                if cell is against or not against:
                    merged[address] = cell
                else:
                    merged[address] = _joined_cells(against, cell, when, otherwise) if cell else against
        return Store(_pushed(merged, below), self.logs)

    def _written(self, shared: int) -> Layer:
        """The cells that were written since a moment. They are not to be changed."""
        layers = self._layers[: len(self._layers) - shared]
        if not layers:
            return self._own
        if not self._own and len(layers) == 1:
            return layers[0]
        found: Layer = {}
        for layer in reversed(layers):
            found.update(layer)
        found.update(self._own)
        return found

    def same_as(self, other: Store) -> bool:
        """Whether both hold the same."""
        shared = _shared(self._layers, other._layers)
        written = self._written_since(shared)
        written.update(other._written_since(shared))
        return all((mine := self._cell(each)) is (theirs := other._cell(each)) or mine == theirs for each in written)

    def differing(self, other: Store) -> list[tuple[Address, str, Value]]:
        """What holds another value here, or is here alone."""
        shared = _shared(self._layers, other._layers)
        written = self._written_since(shared)
        written.update(other._written_since(shared))
        found = []
        for address in written:
            theirs = other._cell(address)
            for name, value in self._cell(address).items():
                before = theirs.get(name, ABSENT)
                if before is not value and before != value:
                    found.append((address, name, value))
        return found

    def put(self, address: Address, name: str, value: Value) -> None:
        """Set a field, whatever the address stands for."""
        self._owned(address, name)[name] = value

    def forget(self, tests: frozenset[str], since: Store) -> None:
        """Drop the decisions of these tests from what was written since a fork."""
        if not tests:
            return
        for address, cell in self._written(_shared(self._layers, since._layers)).items():
            for name, value in cell.items():
                if value.__class__ in _DECIDED and (left := forget(value, tests)) is not value:
                    self._owned(address, name)[name] = left  # of names that are there, which leaves the loop as it is


def _found(layers: tuple[Layer, ...], address: Address) -> Cell:
    for layer in layers:
        found = layer.get(address)
        if found is not None:
            return found
    return _NOTHING


def _joined_cells(mine: Cell, theirs: Cell, when: Decisions, otherwise: Decisions) -> Cell:
    changed: Cell = {}
    for name, value in theirs.items():
        own = mine.get(name)
        if own is not value:
            both = join(ABSENT if own is None else own, value, when, otherwise)
            if both is not own:
                changed[name] = both
    if len(mine) + len(changed) > len(theirs):
        for name in mine.keys() - theirs.keys():
            changed[name] = join(mine[name], ABSENT, when, otherwise)
    return {**mine, **changed} if changed else mine


def _shared(one: tuple[Layer, ...], other: tuple[Layer, ...]) -> int:
    """How many layers both have, counted from the oldest."""
    if one is other:
        return len(one)
    count = 0
    for mine, theirs in zip(reversed(one), reversed(other), strict=False):
        if mine is not theirs:
            break
        count += 1
    return count


def _pushed(top: Layer, layers: tuple[Layer, ...]) -> tuple[Layer, ...]:
    """One more layer. Those of like size become one, so that there are few, and large ones stay what they are."""
    while layers and _LAYERS_APART * len(top) >= len(layers[0]) and len(layers) > 1:
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
        value = self.store.read(address, name)
        return self.left_of(value) if value.__class__ is OneOf else value

    def left_of(self, value: Value) -> Value:
        """A value as far as the decisions leave it open."""
        if value.__class__ is not OneOf:
            return value
        subjects = subjects_of(value)
        if not subjects:
            return value
        if self.store.logs:
            self.store.logs[-1].tests |= subjects
        return under(value, self.decisions)

    def ask(self, decisions: Decisions) -> None:
        """Note that the outcome of these tests matters."""
        if decisions and self.store.logs:
            self.store.logs[-1].ask(decisions)

    def parting(self, other: State) -> tuple[Decisions, Decisions, Decisions]:
        """The decisions that both have made, and those by which one and the other are kept apart."""
        return parting(self.decisions, other.decisions)

    def joined(self, other: State) -> State:
        """One state for both: decisions that both have made hold, and the others stay with what differs by them."""
        common, mine, theirs = self.parting(other)
        return State(self.store.joined(other.store, mine, theirs), common)


def join_states(states: list[State]) -> State | None:
    """One state for all; None where there is none."""
    result: State | None = None
    for state in states:
        result = state if result is None else result.joined(state)
    return result
