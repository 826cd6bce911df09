"""Loops: round after round until the state is stable, at most so many times; then what still changes is widened."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from verifygate.static.machine.containers import Containers
from verifygate.static.machine.core import EndedError
from verifygate.static.machine.lattice import atoms, joined
from verifygate.static.machine.store import State, join_states
from verifygate.static.machine.truth import ALWAYS, truth
from verifygate.static.machine.values import NONE, Constant, Generator, Items, OneOf, Unknown, Value

_CHANGING = "a value that changes from round to round"


class Loops(Containers):
    """How loops run."""

    def _for(self, node: ast.For | ast.AsyncFor) -> bool:
        source = self.eval(node.iter)
        if isinstance(source, Generator):
            return self._for_generator(node, source)
        items = self.elements(source)
        if items.rest is None and len(items.values) <= self.limits.unrolled:
            return self._one_by_one(node, items.values)
        element = joined(items.all)
        return self.repeat(node, lambda: self.assign(node.target, element), may_be_empty=not items.values)

    def _one_by_one(self, node: ast.For | ast.AsyncFor, values: tuple[Value, ...]) -> bool:
        """Run the body once for each element that is known."""
        frame, context = self.frame, self.context
        breaks, continues = frame.breaks, frame.continues
        frame.breaks, goes_on = [], True
        for number, value in enumerate(values):
            frame.continues = []
            self.context = context.child(("round", self.site(node), number))
            self.rounds = (*self.rounds, number)
            frame.loops.append((node.lineno, node.end_lineno or 0))
            try:
                self.assign(node.target, value)
                goes_on = self.run_block(node.body)
            except EndedError:
                goes_on = False
            finally:
                self.context, self.rounds = context, self.rounds[:-1]
                frame.loops.pop()
            goes_on = self.go_on([*([self.state] if goes_on else []), *frame.continues])
            if not goes_on:
                break
        broken = frame.breaks
        frame.breaks, frame.continues = breaks, continues
        goes_on = goes_on and self.run_block(node.orelse)
        return self.go_on([*([self.state] if goes_on else []), *broken])

    def _for_generator(self, node: ast.For | ast.AsyncFor, generator: Generator) -> bool:
        """The generator runs with the body at each of its yields."""
        frame = self.frame
        breaks, continues = frame.breaks, frame.continues
        frame.breaks = []

        def body(value: Value) -> Value:
            frame.continues = []
            frame.loops.append((node.lineno, node.end_lineno or 0))
            try:
                self.assign(node.target, value)
                goes_on = self.run_block(node.body)
            finally:
                frame.loops.pop()
            if not self.go_on([*([self.state] if goes_on else []), *frame.continues]):
                raise EndedError
            return NONE

        try:
            self.consume(generator, body)
            goes_on = True
        except EndedError:
            goes_on = False
        broken = frame.breaks
        frame.breaks, frame.continues = breaks, continues
        goes_on = goes_on and self.run_block(node.orelse)
        return self.go_on([*([self.state] if goes_on else []), *broken])

    def _while(self, node: ast.While) -> bool:
        value = self.eval(node.test)
        if not isinstance(value, OneOf) and truth(value, frozenset()) == ALWAYS:
            return self.repeat(node, lambda: None, may_be_empty=False, ends=False)
        return self.repeat(node, lambda: self._again(node.test))

    def _again(self, test: ast.expr) -> None:
        """Go into the next round of a `while`: its test holds. It is asked anew each time, and decides nothing."""
        decided = self.state.decisions
        holds, _ = self.branch(test)
        if holds is None:
            raise EndedError
        self.state = holds
        self.state.decisions = decided

    def repeat(
        self,
        node: ast.For | ast.AsyncFor | ast.While,
        begin: Callable[[], None],
        *,
        may_be_empty: bool = True,
        ends: bool = True,
    ) -> bool:
        """Run a loop whose rounds are not counted. `ends`: it may end other than by `break`."""
        frame, breaks, continues, context = self.frame, self.frame.breaks, self.frame.continues, self.context
        frame.breaks = []
        self.context = context.child(("rounds", self.site(node)))
        head, after = self.state, []
        most = 1 if self.is_over_budget else self.limits.rounds
        try:
            for number in range(most + 1):
                if number == most:
                    self.partial += 1
                base, tests = head.fork(), len(self.tests)
                end = self._round(node, begin, head)
                if end is None:
                    break
                after = [end]
                end.store.forget(frozenset(self.tests[tests:]), base.store)
                head = self._next_head(base, end, number, widen=number >= most - 1)
                if head is base:
                    break
        finally:
            self.partial -= 1 if number == most else 0
            broken, self.context = frame.breaks, context
            frame.breaks, frame.continues = breaks, continues
        left = ([head] if may_be_empty else after) if ends else []
        goes_on = self.go_on(left) and self.run_block(node.orelse)
        return self.go_on([*([self.state] if goes_on else []), *broken])

    def _round(self, node: Any, begin: Callable[[], None], head: State) -> State | None:
        """One round from a state; None where it never comes to its end."""
        frame = self.frame
        frame.continues = []
        self.state = head.fork()
        frame.loops.append((node.lineno, node.end_lineno or 0))
        try:
            begin()
            goes_on = self.run_block(node.body)
        except EndedError:
            goes_on = False
        finally:
            frame.loops.pop()
        return join_states([*([self.state] if goes_on else []), *frame.continues])

    def _next_head(self, before: State, end: State, number: int, *, widen: bool) -> State:
        """The state in which the next round begins; `before` itself where nothing changed."""
        end.decisions = before.decisions & end.decisions
        head = before.joined(end)
        if head.store.same_as(before.store):
            return before
        if number >= 1:
            self._widen(before, head, fully=widen)
        return before if head.store.same_as(before.store) else head

    def _widen(self, before: State, head: State, *, fully: bool) -> None:
        """Give up what changes: numbers at once, everything else where it has not come to rest."""
        for address, name, value in head.store.differing(before.store):
            if not fully and not _is_counted(value):
                continue
            head.store.put(address, name, self._widened(value))

    def _widened(self, value: Value) -> Value:
        kept = [atom for atom in atoms(value) if not isinstance(atom, Constant | Items)]
        left = [atom.all for atom in atoms(value) if isinstance(atom, Items)]
        if left:
            return Items(rest=joined([*(each for values in left for each in values), Unknown(_CHANGING, self.place)]))
        return joined([*kept, Unknown(_CHANGING, self.place)])


def _is_counted(value: Value) -> bool:
    """Whether a value is a number that may count rounds."""
    return any(isinstance(atom, Constant) and atom.kind in (int, float) for atom in atoms(value))
