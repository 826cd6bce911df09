"""`try` and `with`: handlers, what runs at the end, and context managers."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable
from typing import Any

from verifygate.static.machine.call import PROCESS
from verifygate.static.machine.containers import Containers
from verifygate.static.machine.core import EndedError
from verifygate.static.machine.store import State, join_states
from verifygate.static.machine.values import NONE, Generator, Object, OneOf, Unknown, Value, Wrapped


class Managers(Containers):
    """How blocks with an end of their own run."""

    def may_raise(self) -> None:
        """The state at hand may be where a handler starts."""
        if self.handlers:
            self.handlers[-1].append(self.state.fork())
        else:
            self.uncaught += 1

    def _try(self, node: ast.Try) -> bool:
        before = self._exits()
        start = self.state.fork()
        self.handlers.append([start])
        left: list[State] = []
        try:
            goes_on = True
            for each in node.body:
                goes_on = self.run_statement(each)
                if not goes_on:
                    break
                self.may_raise()
        finally:
            raised = self.handlers.pop()
        if goes_on and self.run_block(node.orelse):
            left.append(self.state)
        left += self._handled_in(node, raised)
        if node.finalbody:
            self.on_exits(before, lambda: self.run_block(node.finalbody))
        if not self.go_on(left):
            return False
        return self.run_block(node.finalbody)

    def _handled_in(self, node: ast.Try, raised: list[State]) -> list[State]:
        """The states in which the handlers of a `try` end."""
        left: list[State] = []
        found = join_states(raised)
        if found is None:
            return left
        self.partial += 1
        try:
            for handler in node.handlers:
                self.state = found.fork()
                if handler.name:
                    self.set_variable(handler.name, Unknown("an exception", self.place))
                if self.run_block(handler.body):
                    left.append(self.state)
        finally:
            self.partial -= 1
        return left

    def _exits(self) -> tuple[int, int, int]:
        return len(self.frame.returns), len(self.frame.breaks), len(self.frame.continues)

    def on_exits(self, before: tuple[int, int, int], leave: Callable[[], Any]) -> None:
        """Do what a block does when it is left early: at each `return`, `break` and `continue` in it."""
        here, frame = self.state, self.frame
        for number, (state, value) in enumerate(frame.returns[before[0] :], before[0]):
            self.state = state
            leave()
            frame.returns[number] = (self.state, value)
        for left, start in ((frame.breaks, before[1]), (frame.continues, before[2])):
            for number, state in enumerate(left[start:], start):
                self.state = state
                leave()
                left[number] = self.state
        self.state = here

    def _with(self, node: ast.With | ast.AsyncWith) -> bool:
        return self._with_items(node, 0)

    def _with_items(self, node: ast.With | ast.AsyncWith, number: int) -> bool:
        if number == len(node.items):
            return self.run_block(node.body)
        item = node.items[number]
        manager = self.eval(item.context_expr)
        ended = [True]

        def body(given: Value) -> bool:
            if item.optional_vars is not None:
                self.assign(item.optional_vars, given)
            ended[0] = self._with_items(node, number + 1)
            return ended[0]

        self.manage(manager, body, self.site(item.context_expr))
        return ended[0]

    def manage(self, manager: Value, body: Callable[[Value], bool], site: Hashable) -> None:
        """Run a block inside a context manager."""
        if isinstance(manager, OneOf):
            left = []
            start = self.state
            for atom, when in manager.cases:
                self.state = start.fork()
                self.state.ask(when)
                self.state.decisions |= when
                going = [False]

                def noted(given: Value, going: list[bool] = going) -> bool:
                    going[0] = body(given)
                    return going[0]

                self.manage(atom, noted, site)
                left += [self.state] if going[0] else []
            self.go_on(left)
            return
        if isinstance(manager, Generator):
            self._manage_by_generator(manager, body)
            return
        before = self._exits()
        given = self._entered(manager, site)
        goes_on = body(given)
        self.on_exits(before, lambda: self._left(manager, site))
        if goes_on:
            self._left(manager, site)

    def _manage_by_generator(self, manager: Generator, body: Callable[[Value], bool]) -> None:
        """The block runs at the generator's yield. Where it is left early, regions and modes are what they were."""
        before, process = self._exits(), dict(self.state.store.fields(PROCESS))

        def at_yield(given: Value) -> Value:
            if not body(given):
                raise EndedError
            return NONE

        try:
            self.consume(manager, at_yield)
        except EndedError:
            pass
        self.on_exits(before, lambda: self.state.store.replace(PROCESS, process))

    def _entered(self, manager: Value, site: Hashable) -> Value:
        if isinstance(manager, Object):
            found = self.inherited(manager.cls, "__enter__", manager, site)
            if found is not None and not isinstance(found, Unknown):
                return self.call(found, (), {}, site)
        if isinstance(manager, Wrapped):
            return self._entered(manager.manager, site)
        return Unknown(manager.reason, manager.place) if isinstance(manager, Unknown) else manager

    def _left(self, manager: Value, site: Hashable) -> None:
        if isinstance(manager, Object):
            found = self.inherited(manager.cls, "__exit__", manager, site)
            if found is not None and not isinstance(found, Unknown):
                self.call(found, (NONE, NONE, NONE), {}, site)

    def inside(self, manager: Value, run: Callable[[], Value], site: Hashable) -> Value:
        results: list[Value] = []

        def body(_: Value) -> bool:
            results.append(run())
            return True

        self.manage(manager, body, site)
        if not results:
            raise EndedError
        return results[-1] if len(results) == 1 else self.unknown("the result inside one of several context managers")
