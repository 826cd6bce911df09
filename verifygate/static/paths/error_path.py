"""Error path: the nodes on the shortest path to a violation, and what the branches on it decide."""

from __future__ import annotations

import ast
from collections.abc import Set
from itertools import pairwise
from typing import NamedTuple

from verifygate.protocol import Event
from verifygate.static.conditions.predicates import Fact
from verifygate.static.lowering.event_graph import Assign, Backward, Branch, Graph, Signal
from verifygate.static.paths.finite_checks import queries_finite, queries_norm
from verifygate.static.symbols.location import Location
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.access_paths import AccessPath

STEPS = (Event.SCALER_STEP, Event.OPTIMIZER_STEP, Event.CHECKED_STEP)
USES = (Event.UNSCALE, *STEPS)
"""What uses gradients, or begins to."""


class Choice(NamedTuple):
    """What a decision counts as: decisions about one remainder are one choice."""

    text: str
    of_element: bool = False
    """It is about one element of a collection: other loops that the element is in may depend on it as well."""


class ErrorPath:
    """The nodes on the shortest path to a violation."""

    def __init__(self, graph: Graph, numbers: list[int], blamed: int, volatile: Set[AccessPath]) -> None:
        self.graph = graph
        self.volatile = volatile
        self.numbers = numbers
        self.blamed = blamed
        self.shown = numbers[-1]
        """Where the violation shows."""
        self.since = max((index for index, number in enumerate(numbers) if number == blamed), default=0)
        """The position at which what is blamed happened last."""
        self._iterated = graph.loop_variables()

    def event(self, number: int) -> Event | None:
        """The event of the protocol at a node."""
        payload = self.graph.nodes[number].payload
        return payload.event if isinstance(payload, Signal) else None

    def loops(self, number: int) -> tuple[int, ...]:
        """The loops around a node."""
        return self.graph.nodes[number].loops

    def last_backward(self, before: int) -> int | None:
        """The position of the last backward before another position."""
        positions = (index for index, number in enumerate(self.numbers[:before]) if self._is_backward(number))
        return max(positions, default=None)

    def last_use(self, before: int) -> int:
        """The position of the last unscale_ or step before another position; 0 without one."""
        positions = (index for index, number in enumerate(self.numbers[:before]) if self.event(number) in USES)
        return max(positions, default=0)

    def _is_backward(self, number: int) -> bool:
        return isinstance(self.graph.nodes[number].payload, Backward)

    # -- branch decisions --------------------------------------------------------------------------------------

    def decisions(self, start: int = 0) -> list[tuple[int, Fact]]:
        """The branches from a position on, and what each decided; not those that keep a `while` going."""
        return [(self.numbers[position], fact) for position, fact in self.decisions_at() if position >= start]

    def decisions_at(self) -> list[tuple[int, Fact]]:
        """The same from the entry on, each with its position on the path."""
        found = []
        for position, (number, successor) in enumerate(pairwise(self.numbers)):
            payload = self.graph.nodes[number].payload
            facts = [fact for each, fact in self.graph.nodes[number].successors if each == successor]
            if isinstance(payload, Branch) and not payload.is_loop_test and len(facts) == 1 and facts[0] is not None:
                found.append((position, facts[0]))
        return found

    def choices(self, start: int = 0) -> set[Choice]:
        """The decisions that may differ between iterations; finite checks come out as they come out."""
        decisions = (
            (self.numbers[at], fact) for at, fact in self.decisions_at() if at >= start and not self._follows(at, fact)
        )
        return {
            self.choice(number, fact)
            for number, fact in decisions
            if self._varies(fact)
            and not fact[0].loop
            and not self._stays_in_the_loop(number, fact)
            and not self.checks_finite(number)
        }

    def _follows(self, position: int, fact: Fact) -> bool:
        """Whether a decision follows from an earlier one: it is on a flag that the path has set to a constant."""
        flag = fact[0].variable
        for number in reversed(self.numbers[:position]) if flag is not None else ():
            payload = self.graph.nodes[number].payload
            if isinstance(payload, Assign) and payload.target == flag:
                return payload.truth is not None
        return False

    def choice(self, number: int, fact: Fact) -> Choice:
        """What a decision counts as."""
        atom = fact[0]
        of_element = self.graph.nodes[number].collections and not atom.remainder and atom.mentions & self._iterated
        return Choice(atom.key, of_element=True) if of_element else Choice(atom.choice)

    def _varies(self, fact: Fact) -> bool:
        return fact[0].opaque or bool(fact[0].mentions & self.volatile)

    def _stays_in_the_loop(self, number: int, fact: Fact) -> bool:
        """Whether all that is decided is not to leave the loop yet."""
        node = self.graph.nodes[number]
        others = [other for other, decided in node.successors if decided is not None and decided[1] is not fact[1]]
        return bool(node.loops) and all(len(self.loops(each)) < len(node.loops) for each in others)

    def checks_finite(self, number: int) -> bool:
        """Whether a branch checks for inf and NaN."""
        return queries_finite(self.graph.nodes[number].place)

    def checks_norm(self, number: int, fact: Fact) -> bool:
        """Whether a condition that may differ between iterations queries how large the gradients are."""
        return self._varies(fact) and queries_norm(self.graph.nodes[number].place)

    # -- beside the path ---------------------------------------------------------------------------------------

    def branches(self, number: int, since: int) -> tuple[set[int], set[int]]:
        """Where the path goes on from a branch, met after a position, and where it does not."""
        taken = set(self.numbers[self.numbers.index(number, since) + 1 :][:1])
        return taken, {successor for successor, _ in self.graph.nodes[number].successors} - taken

    def reaches_update(self, starts: set[int], until: int | None = None) -> bool:
        """Whether an update comes before the next backward, or before a certain one."""
        ahead, seen = list(starts), set(starts)
        while ahead:
            node = self.graph.nodes[number := ahead.pop()]
            if self.event(number) is Event.UPDATE:
                return True
            if not isinstance(node.payload, Backward) if until is None else number != until:
                following = {successor for successor, _ in node.successors} - seen
                seen |= following
                ahead += following
        return False

    def steps_ahead(self, number: int) -> bool:
        """Whether a way leads from a node to a step, and past no zero_grad and no other backward."""
        ahead, seen = [number], {number}
        while ahead:
            for successor, _ in self.graph.nodes[ahead.pop()].successors:
                event = self.event(successor)
                if event in STEPS:
                    return True
                if successor not in seen and event is not Event.ZERO_GRAD and not self._is_backward(successor):
                    seen.add(successor)
                    ahead.append(successor)
        return False

    def wipes_in_a_loop(self) -> bool:
        """Whether a zero_grad and the backward after it stand in a loop behind which the step comes."""
        is_zeroed = self.event(self.blamed) is Event.ZERO_GRAD and self._is_backward(self.shown)
        return is_zeroed and bool(self.loops(self.shown)) and not self.steps_in_loop_of(self.shown)

    def steps_in_loop_of(self, number: int) -> bool:
        """Whether some step stands in the innermost loop around a node."""
        innermost = self.loops(number)[-1:]
        steps = (node for each, node in enumerate(self.graph.nodes) if self.event(each) in STEPS)
        return any(set(innermost) <= set(node.loops) for node in steps)

    # -- iterations --------------------------------------------------------------------------------------------

    def has_new_iteration_since_step(self) -> bool:
        """Whether an iteration of a loop began between the scaler's step and where the violation shows."""
        steps = [index for index, each in enumerate(self.numbers[:-1]) if self.event(each) is Event.SCALER_STEP]
        after = self.numbers[steps[-1] :] if steps else self.numbers
        return any(successor < number for number, successor in pairwise(after))

    def left_loops(self) -> set[int]:
        """The loops around the last backward that the path has left where the violation shows."""
        backwards = [number for number in self.numbers if self._is_backward(number)]
        around = set(self.loops(backwards[-1])) if backwards else set()
        return around - set(self.loops(self.shown))

    def is_caught(self, start: int) -> bool:
        """Whether the path from a position on leads through a handler: what an error left undone is no omission."""
        return any(isinstance(self.graph.nodes[each].place.node, ast.ExceptHandler) for each in self.numbers[start:])

    def needs_equal_elements(self) -> bool:
        """Whether two iterations of one loop have to run the same method of what the loop iterates over.

        `for hook in self.hooks: hook.before_step(self)`: of each kind of hook there is one.
        """
        for calls, loop in self._calls_of_elements().items():
            nodes = enumerate(self.graph.nodes)
            entry = next((n for n, node in nodes if node.place.node is loop and node.calls == calls[:-1]), None)
            if entry is not None and self._most_iterations(calls, entry) > 1:  # none where iterations are unrolled
                return True
        return False

    def _most_iterations(self, calls: tuple[Location, ...], entry: int) -> int:
        """How often the path comes into a call before the loop around it, which is entered there, begins anew."""
        most, iterations, inside = 0, 0, False
        for number in self.numbers:
            iterations = 0 if number == entry else iterations
            before, inside = inside, self.graph.nodes[number].calls[: len(calls)] == calls
            iterations += inside and not before
            most = max(most, iterations)
        return most

    def _calls_of_elements(self) -> dict[tuple[Location, ...], ast.For]:
        """The calls on the path, each after those that lead to it, that run what a loop iterates over; and the loop."""
        found = {}
        for number in self.numbers:
            calls = self.graph.nodes[number].calls
            for end, call in enumerate(calls, 1):
                if (loop := _loop_over_callees(call)) is not None:
                    found[calls[:end]] = loop
        return found


def _loop_over_callees(call: Location) -> ast.For | None:
    """The loop over the objects of which a call runs a method, or over the functions of which it runs one."""
    if not isinstance(call.node, ast.Call):
        return None
    names = {node.id for node in walk(call.node.func) if isinstance(node, ast.Name)}
    nodes = call.function.of_kind(ast.For)
    loops = (each for each in nodes if each.body[0].lineno <= call.line <= Location(call.function, each).end_line)
    found = (loop for loop in loops if names & {node.id for node in walk(loop.target) if isinstance(node, ast.Name)})
    return next(found, None)
