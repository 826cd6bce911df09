"""Accumulation windows that a loop leaves open: what the last micro-batches of an epoch gave, and no step uses.

A window that a remainder closes, `(i + 1) % n == 0`, is short at the end of the loop where `n` does not divide how
many iterations there are. It is left open where no path from there leads to a step before the next backward.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from enum import StrEnum

from verifygate.base.records import record
from verifygate.protocol import Event, Gradients
from verifygate.static.conditions.predicates import Predicate
from verifygate.static.lowering.event_graph import Assign, Backward, Branch, Escape, Graph, Node, Signal
from verifygate.static.paths.exploration import Exploration
from verifygate.static.paths.reachability import Nodes, reachable
from verifygate.static.paths.states import PathNode
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.access_paths import AccessPath

_STEPS = frozenset({Event.SCALER_STEP, Event.OPTIMIZER_STEP, Event.CHECKED_STEP})
_PENDING = frozenset({Gradients.SCALED, Gradients.PLAIN, Gradients.UNSCALED})
_MAX_FOLLOWED = 4_000
_For = ast.For | ast.AsyncFor


class Fate(StrEnum):
    """What becomes of the gradients of a window that is left open."""

    LOST = "zeroed before a step uses them"
    CARRIED = "added to those of the next epoch's first window"


class _Counts(StrEnum):
    """How the counter of a window counts."""

    ANEW = "from the beginning in each run of the loop"
    ON = "on from one run of the loop to the next"


@record
class OpenWindow:
    """A loop over batches that may end within a window of an optimizer."""

    place: Location
    """The condition that closes a window, or what is passed as such."""
    loop: Location
    backward: Location
    step: Location
    optimizer: AccessPath
    fate: Fate


class _TrainingLoop:
    """A `for` of an event graph whose iterations are micro-batches."""

    def __init__(self, graph: Graph, number: int) -> None:
        self.inside: Nodes = {at for at, node in enumerate(graph.nodes) if number in node.loops}
        self.first = min(self.inside)
        self.head = self.first - 1
        self.outer = graph.nodes[self.head].loops
        self.node = graph.nodes[self.first].place.node
        self.function: Function = graph.nodes[self.first].place.function


def open_windows(exploration: Exploration) -> Iterator[OpenWindow]:
    """The windows that are left open, one for each loop and condition."""
    graph = exploration.facts.graph
    seen: set[tuple[int, Predicate]] = set()
    for number, node in enumerate(graph.nodes):
        if isinstance(branch := node.payload, Branch) and branch.atom.remainder is not None and node.loops:
            innermost = (each for each in reversed(node.loops) if _derives(graph, each))
            loop = next(innermost, None)
            if loop is None or (loop, branch.atom) in seen:
                continue
            seen.add((loop, branch.atom))
            found = _Window(exploration, _TrainingLoop(graph, loop), branch.atom, number).left_open()
            if found is not None:
                yield found


def _derives(graph: Graph, loop: int) -> bool:
    return any(isinstance(node.payload, Backward) and loop in node.loops for node in graph.nodes)


class _Window:
    """The windows of one loop that one condition closes."""

    def __init__(self, exploration: Exploration, loop: _TrainingLoop, closes: Predicate, branch: int) -> None:
        self.exploration = exploration
        self.facts = exploration.facts
        self.nodes = exploration.facts.graph.nodes
        self.loop = loop
        self.closes = closes
        self.branch = branch

    def left_open(self) -> OpenWindow | None:
        counts = self._counts() if isinstance(self.loop.node, _For) else None
        if counts is None:
            return None
        for optimizer in sorted(self.facts.graph.optimizers, key=str):
            within = self._within(optimizer)
            if within is None:
                continue
            fate = self._fate(optimizer)
            if fate is None or (counts is _Counts.ON and fate is not Fate.LOST):
                continue
            backward, step = (self.nodes[each].place for each in within)
            loop = Location(self.loop.function, self.loop.node)
            return OpenWindow(self._place(), loop, backward, step, optimizer, fate)
        return None

    def _place(self) -> Location:
        """Where the remainder is written: in the condition, or in an argument that a call on the way to it passes."""
        node = self.nodes[self.branch]
        written = (each for each in (node.place, *reversed(node.calls)) if _has_remainder(each))
        return next(written, node.place)

    # -- one iteration -----------------------------------------------------------------------------------------

    def _within(self, optimizer: AccessPath) -> tuple[int, int] | None:
        """A backward that runs in the iterations in which a window is open, and the step that only its end has.

        None where something steps or zeroes in the others as well.
        """
        opens = self.facts.next_iterations.get(self.closes)
        given = {(self.closes, False)} | ({(opens, False)} if opens is not None else set())
        others = self._iteration(given)
        steps = {number for number in self.loop.inside if self._is_step(number, optimizer)}
        if steps & self._iteration({(self.closes, False)}) or not steps & self._iteration({(self.closes, True)}):
            return None
        if any(self._event(number) is Event.ZERO_GRAD and self._may_concern(number, optimizer) for number in others):
            return None
        backwards = [
            number
            for number in sorted(others)
            if isinstance(self.nodes[number].payload, Backward) and self.facts.concerns(number, optimizer)
        ]
        return (backwards[0], min(steps)) if backwards else None

    def _iteration(self, given: set[tuple[Predicate, bool]]) -> Nodes:
        inside = self.loop.inside
        starts = (each for each, _ in self.nodes[self.loop.head].successors)
        return reachable(self.facts.graph, starts, given, lambda number: number not in inside) & inside

    def _event(self, number: int) -> Event | None:
        payload = self.nodes[number].payload
        return payload.event if isinstance(payload, Signal) else None

    def _is_step(self, number: int, optimizer: AccessPath) -> bool:
        payload = self.nodes[number].payload
        return isinstance(payload, Signal) and payload.event in _STEPS and payload.optimizer == optimizer

    def _may_concern(self, number: int, optimizer: AccessPath) -> bool:
        return self.facts.concerns(number, optimizer) is not False

    # -- behind the loop ---------------------------------------------------------------------------------------

    def _fate(self, optimizer: AccessPath) -> Fate | None:
        """What becomes of gradients with which the loop is left; None where some path leads to a step, or may."""
        ahead = list(self._ends(optimizer))
        seen = set(ahead)
        fates: set[Fate] = set()
        if all(number == self.loop.head for number, _ in ahead):  # nothing follows the loop
            return self._fate_in_the_next_call(optimizer) if ahead else None
        while ahead:
            here = ahead.pop()
            number = here[0]
            payload = self.nodes[number].payload
            if self._is_step(number, optimizer) or isinstance(payload, Escape) or self._asks_for_the_rest(number):
                return None
            if self._event(number) is Event.ZERO_GRAD and self._may_concern(number, optimizer):
                fates.add(Fate.LOST)
                continue
            if isinstance(payload, Backward) and self._may_concern(number, optimizer):
                fates.add(Fate.CARRIED)
                continue
            following = self.exploration.successors(*here)
            if not following:
                fates.add(self._fate_in_the_next_call(optimizer))
            more = [each for each in following if each not in seen]
            seen.update(more)
            if len(seen) > _MAX_FOLLOWED:
                return None
            ahead += more
        if not fates:
            return None
        return Fate.LOST if fates == {Fate.LOST} else Fate.CARRIED

    def _asks_for_the_rest(self, number: int) -> bool:
        """Whether a condition behind the loop is about what it has left over: what follows is meant."""
        payload = self.nodes[number].payload
        if not isinstance(payload, Branch) or payload.atom.remainder is None or number in self.loop.inside:
            return False
        return self.closes.remainder is not None and payload.atom.remainder.text == self.closes.remainder.text

    def _ends(self, optimizer: AccessPath) -> Iterator[PathNode]:
        """Where an iteration ends with gradients of an optimizer that no step has used: it may be the last."""
        inside = self.loop.inside
        leads_on = any(self._leaves(each) for number in inside for each, _ in self.nodes[number].successors)
        for number, state in self.exploration.predecessors.parents:
            if number not in inside:
                continue
            for following in self.exploration.successors(number, state):
                typestate = dict(following[1].optimizers).get(optimizer)
                is_end = self._leaves(following[0]) if leads_on else following[0] == self.loop.head
                if is_end and typestate is not None and typestate.state.gradients in _PENDING:
                    yield following

    def _leaves(self, number: int) -> bool:
        return number not in self.loop.inside and number != self.loop.head

    def _fate_in_the_next_call(self, optimizer: AccessPath) -> Fate:
        """What the function itself does first, if whatever calls it does nothing."""
        is_backward = {
            number
            for number, node in enumerate(self.nodes)
            if isinstance(node.payload, Backward) and self._may_concern(number, optimizer)
        }
        first = reachable(self.facts.graph, [0], ends=lambda number: number in is_backward)
        zeroes = any(
            self._event(number) is Event.ZERO_GRAD and self._may_concern(number, optimizer) for number in first
        )
        return Fate.LOST if zeroes else Fate.CARRIED

    # -- the counter -------------------------------------------------------------------------------------------

    def _counts(self) -> _Counts | None:
        """How the counter counts; None where the loop is not one over the batches of an epoch, as far as is seen."""
        remainder, node = self.closes.remainder, self.loop.node
        assert remainder is not None and isinstance(node, _For)  # noqa: S101, PT018 - asked before
        iterated = _iterated(node, self.loop.function)
        assigned = [each for each in self.nodes if isinstance(each.payload, Assign)]
        own = [each for each in assigned if _target(each) == remainder.counter]
        if any(each.place.node is node for each in own):
            return _by_the_loop(iterated, closes=remainder.closes)
        if iterated is None or last_name_of(iterated) == "range":
            return None
        resets = [each for each in own if not _advances(each) and self.loop_number not in each.loops]
        anew = any(each.loops == self.loop.outer and self._runs_with(each) for each in resets)
        return _Counts.ANEW if anew else _Counts.ON

    @property
    def loop_number(self) -> int:
        return self.nodes[self.loop.first].loops[len(self.loop.outer)]

    def _runs_with(self, reset: Node) -> bool:
        """Whether a counter is set anew before each run of the loop: in the loop around it, or by the function."""
        return bool(self.loop.outer) or bool(reset.place.function.symbol)


def _has_remainder(place: Location) -> bool:
    """Whether a location is one of its function, and holds a remainder."""
    is_own = any(node is place.node for node in place.function.own_nodes)
    return is_own and any(isinstance(node, ast.Mod) for node in ast.walk(place.node))


def _target(node: Node) -> AccessPath | None:
    return node.payload.target if isinstance(node.payload, Assign) else None


def _advances(node: Node) -> bool:
    return isinstance(node.payload, Assign) and (node.payload.advances or node.payload.augments)


def last_name_of(expr: ast.expr) -> str:
    return last_name(expr.func) if isinstance(expr, ast.Call) else ""


def _iterated(node: _For, function: Function) -> ast.expr | None:
    """What a loop iterates over: what the name of a progress bar is bound to."""
    if not isinstance(node.iter, ast.Name):
        return node.iter
    bound = [each.expr for each in function.scope.names.get(node.iter.id, ()) if each.expr is not None]
    return bound[-1] if bound else node.iter


def loop_of(graph: Graph, number: int) -> Location:
    """Where a loop of an event graph stands."""
    loop = _TrainingLoop(graph, number)
    return Location(loop.function, loop.node)


def counts_batches(loop: Location) -> bool:
    """Whether the variable of a `for` counts what it iterates over, from its begin."""
    if not isinstance(loop.node, _For):
        return False
    return _by_the_loop(_iterated(loop.node, loop.function), closes=True) is not None


def _by_the_loop(iterated: ast.expr | None, *, closes: bool) -> _Counts | None:
    """How the variable of a loop counts: `enumerate(loader)` from 0 each time, `range(len(loader))` as well.

    A remainder of 0 in the first iteration of all ends a window of one batch: another fault.
    """
    for call in walk(iterated) if iterated is not None else ():
        if not isinstance(call, ast.Call):
            continue
        if last_name(call.func) == "enumerate":
            given = [*call.args[1:], *(word.value for word in call.keywords if word.arg == "start")]
            start = given[0] if given else ast.Constant(0)
            if not isinstance(start, ast.Constant):
                return _Counts.ON
            return _Counts.ANEW if closes or start.value == 1 else None
        if last_name(call.func) == "range" and any(last_name_of(part) == "len" for part in walk(call)):  # type: ignore[arg-type]
            return _Counts.ANEW if closes or len(call.args) > 1 else None
    return None
