"""Answers of calls, kept by what they read: a call that reads the same does the same.

A record holds for one function in one context, so addresses of what it makes are the same again. What counts as read:
arguments, decisions, every cell that was looked at before it was written (one that was not there, too), and the rounds
of the loops around where a test on data was made. Nothing is kept of a call that was cut by a limit, that loaded
modules, or that has left a state to a handler outside of it.
"""

from __future__ import annotations

from collections.abc import Callable

from verifygate.base.records import record, replace
from verifygate.static.machine.core import Core, Emitted
from verifygate.static.machine.store import Cell, Field, Reads
from verifygate.static.machine.values import Address, Context, Decisions, FunctionValue, Value

_MOST_OUTCOMES = 4
"""Outcomes that are kept of one function in one context, the latest."""


@record
class Kept:
    """What one call read, and what it did."""

    function: FunctionValue
    variables: dict[str, Value]
    way: tuple[Decisions, bool, tuple[int, ...] | None]
    """The decisions before it; whether it came after a limit; the rounds around, where a test on data was made."""
    reads: Reads
    result: Value
    decided: Decisions
    writes: dict[Address, Cell]
    events: tuple[Emitted, ...]


class Memo(Core):
    """How calls are answered by earlier ones."""

    def remembered(
        self, function: FunctionValue, variables: dict[str, Value], context: Context, run: Callable[[], Value]
    ) -> Value:
        """The result of a call: what an earlier one did, where that has read the same, else what `run` does now."""
        if not self.keeps or self.is_over_budget:
            return run()
        kept = self.kept.setdefault((function.code, context), [])
        found = next((each for each in reversed(kept) if self._holds(each, function, variables)), None)
        if found is not None:
            return self._replayed(found)
        decisions, start = self.state.decisions, self.state.store.fork()
        given, cuts, tests, events = dict(variables), self._cuts(), len(self.tests), len(self.events)
        reads, result = self._watched(run)
        if self._cuts() == cuts and not self.is_over_budget:
            rounds = self.rounds if len(self.tests) != tests else None
            writes = self.state.store.changes(start)
            done = tuple(self.events[events:])
            way = (decisions, bool(self.partial), rounds)
            kept.append(Kept(function, given, way, reads, result, self.state.decisions, writes, done))
            del kept[:-_MOST_OUTCOMES]
        return result

    def _watched(self, run: Callable[[], Value]) -> tuple[Reads, Value]:
        """What a call reads and gives. What it reads, its caller reads as well."""
        logs, reads = self.state.store.logs, Reads()
        logs.append(reads)
        try:
            return reads, run()
        finally:
            logs.pop()
            for address, cell in reads.items() if logs else ():
                logs[-1].setdefault(address, cell)

    def _cuts(self) -> tuple[int, ...]:
        """What grows where a call does what no record holds."""
        return len(self.modules_loaded), sum(map(len, self.handlers)), self.refused

    def _holds(self, kept: Kept, function: FunctionValue, variables: dict[str, Value]) -> bool:
        """Whether a call would read what an earlier one did."""
        decisions, is_partial, rounds = kept.way
        if rounds not in (None, self.rounds) or (decisions, is_partial) != (self.state.decisions, bool(self.partial)):
            return False
        if kept.function != function or kept.variables != variables:
            return False
        return all(cell is None or self._is_there(key, cell) for key, cell in kept.reads.items())

    def _is_there(self, key: Address | Field, before: Cell | Value) -> bool:
        """Whether an object or a field is what it was. To ask is to read it."""
        store = self.state.store
        now = store.fields(key) if isinstance(key, Address) else store.read(*key)
        return now is before or now == before

    def _replayed(self, kept: Kept) -> Value:
        """Do what an earlier call did."""
        self.replayed += 1
        for address, cell in kept.writes.items():
            self.state.store.replace(address, cell)
        self.state.decisions = kept.decided
        for each in kept.events:
            event = replace(each.event, number=len(self.events) + 1)
            self.events.append(replace(each, event=event))
        return kept.result
