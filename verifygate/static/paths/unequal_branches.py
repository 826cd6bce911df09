"""Compare the two branches of an AMP switch: what the one does to the gradients of an optimizer, and the other not.

A switch is a condition that never changes, and under which a scaler steps an optimizer that otherwise steps by itself.
An event that both branches lead to, before them, after them or in a function that both call, is in neither alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum

from verifygate.base.records import record
from verifygate.protocol import Event
from verifygate.static.conditions.predicates import Predicate
from verifygate.static.lowering.event_graph import Backward, Branch, Escape, Graph, Signal
from verifygate.static.paths.graph_facts import GraphFacts
from verifygate.static.paths.reachability import Nodes, reachable
from verifygate.static.values.access_paths import AccessPath

_OWN_STEPS = frozenset({Event.OPTIMIZER_STEP, Event.CHECKED_STEP})
_STEPS = _OWN_STEPS | {Event.SCALER_STEP}
_REWRITES = frozenset({Event.CLIP, Event.WRITE, Event.ASSIGN})
"""Each may do what a clip does in the other branch."""


class Side(StrEnum):
    """A branch of an AMP switch."""

    SCALER = "the branch with the scaler"
    PLAIN = "the branch without a scaler"


@record
class UnequalBranches:
    """An event that only one branch of a switch has."""

    event: int
    """Its node."""
    side: Side
    """The branch that has it."""
    optimizer: AccessPath
    steps: tuple[int, int]
    """The step of that branch, and that of the other one."""


def unequal_branches(facts: GraphFacts) -> Iterator[UnequalBranches]:
    """The clips and zero_grads of one branch alone: at most one of each kind for an optimizer."""
    steps = _stepped_both_ways(facts.graph)
    switches = _switches(facts) if steps else ()
    seen: set[tuple[AccessPath, Event]] = set()
    for switch in switches:
        sides = {
            truth: reachable(facts.graph, [0], {(switch, truth)} | facts.implied.get((switch, truth), frozenset()))
            for truth in (True, False)
        }
        for optimizer, (by_scaler, by_itself) in steps.items():
            for truth in (True, False):
                on, off = sides[truth], sides[not truth]
                if not by_scaler & on or by_scaler & off or not by_itself & off:
                    continue
                if _steps_alone(facts, on, steps[optimizer]):
                    continue
                for event, found in _compare(facts, optimizer, {Side.SCALER: on, Side.PLAIN: off}):
                    if (optimizer, event) not in seen:
                        seen.add((optimizer, event))
                        yield found


def _stepped_both_ways(graph: Graph) -> dict[AccessPath, tuple[set[int], set[int]]]:
    """Each optimizer that a scaler steps, and that steps by itself as well: the nodes of either kind."""
    found: dict[AccessPath, tuple[set[int], set[int]]] = {}
    for number, node in enumerate(graph.nodes):
        if isinstance(signal := node.payload, Signal) and signal.optimizer is not None:
            by_scaler, by_itself = found.setdefault(signal.optimizer, (set(), set()))
            if signal.event is Event.SCALER_STEP:
                by_scaler.add(number)
            elif signal.event in _OWN_STEPS:
                by_itself.add(number)
    return {optimizer: both for optimizer, both in found.items() if all(both)}


def _steps_alone(facts: GraphFacts, side: Nodes, steps: tuple[set[int], set[int]]) -> bool:
    """Whether an optimizer steps in a branch by a call of its own, and not by that of a scaler that is off."""
    by_scaler, by_itself = steps
    calls = {facts.graph.nodes[number].place for number in by_scaler}
    return any(facts.graph.nodes[number].place not in calls for number in by_itself & side)


def _switches(facts: GraphFacts) -> list[Predicate]:
    """The conditions whose outcome never changes from the first branch on them on."""
    tested: dict[Predicate, list[int]] = {}
    for number, node in enumerate(facts.graph.nodes):
        if isinstance(node.payload, Branch):
            tested.setdefault(node.payload.atom, []).append(number)
    found = []
    for atom, numbers in tested.items():
        if atom.opaque or atom.remainder is not None or atom.loop is not None:
            continue
        if not any(atom in facts.kills[number] for number in reachable(facts.graph, numbers)):
            found.append(atom)
    return sorted(found, key=lambda atom: atom.key)


def _compare(
    facts: GraphFacts, optimizer: AccessPath, sides: Mapping[Side, Nodes]
) -> Iterator[tuple[Event, UnequalBranches]]:
    for side, other in ((Side.SCALER, Side.PLAIN), (Side.PLAIN, Side.SCALER)):
        own, others = sides[side], sides[other]
        if any(isinstance(facts.graph.nodes[number].payload, Escape) for number in others - own):
            continue  # what is done out of sight may be the same
        for event, equal in ((Event.CLIP, _REWRITES), (Event.ZERO_GRAD, frozenset({Event.ZERO_GRAD}))):
            if any(_event(facts, number) in equal and _concerns(facts, number, optimizer) for number in others):
                continue
            for number in sorted(own):
                if _event(facts, number) is event and facts.concerns(number, optimizer):
                    step = _step_of(facts, number, optimizer, own)
                    other_step = _first_step(facts, optimizer, others)
                    if step is not None and other_step is not None:
                        yield event, UnequalBranches(number, side, optimizer, (step, other_step))
                        break


def _event(facts: GraphFacts, number: int) -> Event | None:
    payload = facts.graph.nodes[number].payload
    return payload.event if isinstance(payload, Signal) else None


def _concerns(facts: GraphFacts, number: int, optimizer: AccessPath) -> bool:
    return facts.concerns(number, optimizer) is not False


def _step_of(facts: GraphFacts, number: int, optimizer: AccessPath, side: Nodes) -> int | None:
    """The step that an event is for: of a clip, one that no backward comes before.

    Of a zero_grad, one outside of all loops: what is never zeroed in a loop is a violation by itself.
    """
    nodes = facts.graph.nodes
    if _event(facts, number) is Event.ZERO_GRAD:
        step = _first_step(facts, optimizer, side)
        return None if step is None or nodes[step].loops else step
    ahead = reachable(facts.graph, [number], ends=lambda each: isinstance(nodes[each].payload, Backward))
    return _first_step(facts, optimizer, ahead & side)


def _first_step(facts: GraphFacts, optimizer: AccessPath, numbers: Nodes) -> int | None:
    for number in sorted(numbers):
        payload = facts.graph.nodes[number].payload
        if isinstance(payload, Signal) and payload.optimizer == optimizer and payload.event in _STEPS:
            return number
    return None
