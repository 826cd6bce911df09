"""Conditions: the states in which a test holds and in which it fails, and the values of `and`, `or` and `if else`."""

from __future__ import annotations

import ast

from verifygate.static.machine import expressions
from verifygate.static.machine.core import EndedError
from verifygate.static.machine.expressions import Expressions
from verifygate.static.machine.lattice import atoms, joined, subject_of
from verifygate.static.machine.store import State, join_states
from verifygate.static.machine.truth import Truth, test_of, truth
from verifygate.static.machine.values import (
    FALSE,
    TRUE,
    Atom,
    Condition,
    Container,
    Decisions,
    OneOf,
    Option,
    Tuple,
    Value,
)


class Conditions(Expressions):
    """How conditions split the state."""

    def branch(self, test: ast.expr) -> tuple[State | None, State | None]:
        """The states in which a condition holds, and in which it fails; None where it never does."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            holds, fails = self.branch(test.operand)
            return fails, holds
        if isinstance(test, ast.BoolOp):
            return self._branch_of_several(test)
        return self.split(self.eval(test))

    def _branch_of_several(self, test: ast.BoolOp) -> tuple[State | None, State | None]:
        ends_early = isinstance(test.op, ast.Or)
        early: list[State] = []
        going: State | None = None
        for number, each in enumerate(test.values):
            if number and going is None:
                break
            self.state = going or self.state
            holds, fails = self.branch(each)
            ended, going = (holds, fails) if ends_early else (fails, holds)
            early += [ended] if ended is not None else []
        left = join_states(early)
        return (left, going) if ends_early else (going, left)

    def split(self, value: Value) -> tuple[State | None, State | None]:
        """The same for the value of a condition."""
        ways: tuple[list[State], list[State]] = ([], [])
        start = self.state
        for atom, when in value.cases if isinstance(value, OneOf) else ((value, frozenset()),):
            start.ask(when)
            found = self.truth_of(atom, start.decisions)
            for holds, may in ((True, found.may_hold), (False, found.may_fail)):
                if may:
                    state = start.fork()
                    state.decisions |= when | found.decided(holds)
                    ways[0 if holds else 1].append(state)
        return join_states(ways[0]), join_states(ways[1])

    def truth_of(self, atom: Atom, decisions: Decisions) -> Truth:
        items = self.items(atom) if isinstance(atom, Container) else None
        if isinstance(atom, Option | Condition) and self.state.store.logs:
            self.state.store.logs[-1].tests.add(subject_of(test_of(atom)))
        return truth(Tuple(items) if items is not None else atom, decisions)

    def _boolean(self, node: ast.BoolOp) -> Value:
        """`a and b`, `a or b`: the first that decides it, else the last."""
        ends: list[tuple[State, Value]] = []
        for each in node.values[:-1]:
            value = self.eval(each)
            holds, fails = self.split(value)
            ended, going = (holds, fails) if isinstance(node.op, ast.Or) else (fails, holds)
            if ended is not None:
                ends.append((ended, self._as_decided(value, isinstance(node.op, ast.Or), ended)))
            if going is None:
                return self.join_ends(ends)
            self.state = going
        last = self.eval(node.values[-1])
        return self.join_ends([*ends, (self.state, last)])

    def _as_decided(self, value: Value, holds: bool, state: State) -> Value:
        """What a condition is known to be, once it has come out so."""
        if isinstance(value, OneOf):
            left = [
                atom
                for atom in atoms(value)
                if getattr(self.truth_of(atom, state.decisions), "may_hold" if holds else "may_fail")
            ]
            return joined(left) if left else value
        return (TRUE if holds else FALSE) if isinstance(value, Condition) else value

    def _choice(self, node: ast.IfExp) -> Value:
        ends: list[tuple[State, Value]] = []
        for state, arm in zip(self.branch(node.test), (node.body, node.orelse), strict=True):
            if state is None:
                continue
            self.state = state
            try:
                value = self.eval(arm)
                ends.append((self.state, value))
            except EndedError:
                continue
        return self.join_ends(ends)


expressions.KINDS |= {ast.BoolOp: Conditions._boolean, ast.IfExp: Conditions._choice}
