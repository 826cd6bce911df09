"""Violations of one event graph: explore its paths, triage what was met, and decide how certain it is."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Set

from verifygate.base.records import field, record
from verifygate.protocol import Event, Gradients, Violation
from verifygate.static.lowering.event_graph import (
    Assign,
    Backward,
    Enter,
    ForeignBackward,
    Graph,
    Leave,
    Node,
    Signal,
)
from verifygate.static.paths.certainty import CertaintyAnalysis
from verifygate.static.paths.coarsening import Coarseness
from verifygate.static.paths.error_path import ErrorPath
from verifygate.static.paths.exploration import Exploration, explore
from verifygate.static.paths.open_windows import Fate, open_windows
from verifygate.static.paths.path_steps import labelled
from verifygate.static.paths.path_triage import triage, zeroed_by_name
from verifygate.static.paths.settling import NOTHING_SETTLES, Settling, settling_of
from verifygate.static.paths.unequal_branches import Side, unequal_branches
from verifygate.static.symbols.location import Location
from verifygate.static.values.access_paths import AccessPath

_BOTH = "both branches are to train alike"
_SHARED = "which of these gradients are unscaled: several optimizers have parts of these parameters"
_ENDS = "the loop ends within a window"


@record
class ViolationReport:
    """One violation: the place at fault, where it shows, and the events that lead there."""

    violation: Violation
    place: Location
    shown_at: Location
    assumes: str
    """What has to hold for it to be one; empty where it is certain."""
    path: tuple[tuple[Location, str], ...]
    """Each event on the path, with its name, and the calls between them."""
    optimizer: AccessPath | None = None
    is_leftover: bool = False
    """The gradients come of the loss of another optimizer."""
    settling: Settling = NOTHING_SETTLES
    """What would settle the assumption."""
    kind: Side | Fate | None = None
    """Of unequal branches the one with the event; of an open window what becomes of it."""
    possible: frozenset[AccessPath] = frozenset()
    """The optimizers of which it is about one, where they were explored apart: it is one only if it is of each."""

    @property
    def certain(self) -> bool:
        return not self.assumes


@record
class Diagnosis:
    """What exploring a graph comes to."""

    reports: list[ViolationReport]
    """In the order in which the violations are met."""
    open: Set[Violation] = frozenset()
    """What a coarser exploration could not decide: it met them on paths that no run takes, or cannot meet them."""
    unsaid: Mapping[Location, tuple[Violation, str]] = field(default_factory=dict)
    """Where what nobody knows decides that there is none, and what that is: `release_gradients()` zeroes, perhaps."""


def diagnose(graph: Graph) -> Diagnosis:
    """The violations on the paths of a graph. Raises TooManyStatesError."""
    if not graph.scalers and not any(map(_uses_amp, graph.nodes)):
        return Diagnosis([])  # neither scaling nor autocast: nothing can be violated
    found: dict[tuple[Violation, Location], ViolationReport] = {}
    left: set[Violation] = set()
    unsaid: dict[Location, tuple[Violation, str]] = {}
    of_one: dict[tuple[Violation, Location], list[ViolationReport]] = {}
    for exploration in explore(graph):
        if exploration.coarseness >= Coarseness.APART:
            left.add(Violation.MISPLACED_UPDATE)  # it is about all optimizers together
        unsaid |= dict.fromkeys(_shared_clips(exploration), (Violation.CLIP_BEFORE_UNSCALE, _SHARED))
        for each in _reports(exploration, left, unsaid):  # of several optimizers one may be surely violated
            key = (each.violation, each.place)
            if each.possible:
                of_one.setdefault(key, []).append(each)
            elif key not in found or (each.certain and not found[key].certain):
                found[key] = each
    for key, reports in of_one.items():
        if reports[0].possible <= {each.optimizer for each in reports if each.certain}:
            found.setdefault(key, reports[0])
        else:
            left.add(key[0])
    told = {each.violation for each in found.values()}
    unsaid = {at: each for at, each in unsaid.items() if (each[0], at) not in found}
    return Diagnosis(list(found.values()), left - told, unsaid)


def _shared_clips(exploration: Exploration) -> Iterator[Location]:
    """The clips of gradients of which another optimizer that has some of the parameters left nothing known."""
    facts = exploration.facts
    for number, states in exploration.arrivals.items() if any(facts.relations.shared.values()) else ():
        node = facts.graph.nodes[number]
        if isinstance(node.payload, Signal) and node.payload.event is Event.CLIP:
            clipped, _ = facts.targets(number, node.payload)
            here = (each for state in states for name, each in state.optimizers if name in clipped)
            if any(each.weak and each.state.gradients is Gradients.UNKNOWN for each in here):
                yield node.place


def _uses_amp(node: Node) -> bool:
    return isinstance(node.payload, Enter) or (isinstance(node.payload, Backward | Assign) and node.payload.scaled)


def _reports(
    exploration: Exploration, left: set[Violation], unsaid: dict[Location, tuple[Violation, str]]
) -> list[ViolationReport]:
    """The violations that an exploration shows; those that it met and cannot show are added to what is left."""
    graph, predecessors = exploration.facts.graph, exploration.predecessors
    may_must, is_apart = CertaintyAnalysis(exploration), exploration.coarseness >= Coarseness.APART
    found: dict[tuple[Violation, int], ViolationReport] = {}
    for (violation, blamed), candidates in exploration.candidates.items():
        first = exploration.feasible(candidates)
        if first is None:
            left.add(violation)
            continue
        numbers = [number for number, _ in predecessors.path_to(first.node, first.state)]
        path = ErrorPath(graph, numbers, blamed, predecessors.volatile)
        shown, at_fault = triage(path, violation)
        if shown is None and (call := zeroed_by_name(path, violation)) is not None:
            unsaid[call] = violation, f"only its name says that `{ast.unparse(call.node)}` zeroes the gradients"
        if shown is None or (shown, at_fault) in found:
            continue
        assumes = may_must.assumed(candidates, path)  # last: whether other paths are innocent takes long to find out
        if assumes is not None:
            place, shown_at = graph.nodes[at_fault].place, graph.nodes[first.node].place
            steps = labelled(_events(path))
            found[shown, at_fault] = ViolationReport(
                shown,
                place,
                shown_at,
                assumes,
                steps,
                first.optimizer,
                first.is_leftover,
                settling_of(assumes, path),
                possible=exploration.facts.possible(first.node) if is_apart else frozenset(),
            )
    return [*found.values(), *_beside_the_table(exploration)]


def _beside_the_table(exploration: Exploration) -> Iterator[ViolationReport]:
    """What a comparison of several paths shows, and no single one."""
    nodes = exploration.facts.graph.nodes
    for each in unequal_branches(exploration.facts):
        place, other = nodes[each.event].place, nodes[each.steps[1]].place
        path = (*labelled([nodes[each.event], nodes[each.steps[0]]]), (other, "step of the other branch"))
        yield ViolationReport(Violation.UNEQUAL_BRANCHES, place, other, _BOTH, path, each.optimizer, kind=each.side)
    for window in open_windows(exploration):
        path = ((window.loop, "loop"), (window.backward, "backward"), (window.step, "step"))
        yield ViolationReport(
            Violation.WINDOW_LEFT_OPEN, window.place, window.loop, _ENDS, path, window.optimizer, kind=window.fate
        )


def _events(path: ErrorPath) -> list[Node]:
    """The events on the path to the violation, from the last point at which nothing was pending."""
    nodes = path.graph.nodes
    numbers = [
        number
        for number in path.numbers
        if isinstance(nodes[number].payload, Signal | Backward | ForeignBackward | Enter | Leave)
    ]
    start = 0
    for index, number in enumerate(numbers[:-1]):
        if path.event(number) is Event.UPDATE and number != path.blamed:
            start = index + 1
        if number == path.blamed:
            break
    return [nodes[number] for number in numbers[start:]]
