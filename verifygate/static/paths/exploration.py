"""Path-sensitive exploration of an event graph: every feasible path, with the state of the protocol carried along it.

A state is what the protocol knows of each optimizer, the open autocast regions, the variables that hold a scaled
loss, and the conditions already decided on this path. Equal states at a node are explored once, so that loops end by
themselves and independent branches do not multiply. Past the limit a coarser exploration takes over (`coarsening.py`).
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from verifygate.base.records import field, record
from verifygate.protocol import Violation
from verifygate.static.lowering.event_graph import Backward, ForeignBackward, Graph, Signal
from verifygate.static.paths.coarsening import Coarseness, Coarsening, groups_at
from verifygate.static.paths.graph_facts import GraphFacts, graph_facts
from verifygate.static.paths.predecessors import Predecessors
from verifygate.static.paths.states import PathNode, State
from verifygate.static.paths.transfer import Candidate, successors, transfer
from verifygate.static.paths.typestate import Typestate
from verifygate.static.values.access_paths import AccessPath

MAX_STATES = 40_000
MAX_CELLS = 2_000_000
"""States times optimizers: each state holds what is known of every optimizer."""
MAX_OPTIMIZERS = 100
"""What a backward leaves in each is worked out against each other one."""
_MAX_REPLAYED = 50
"""Candidates of one violation whose paths are followed once more."""


class TooManyStatesError(Exception):
    """The graph has more states than the limit."""


@record(eq=False)
class Exploration:
    """All that exploring a graph has met."""

    facts: GraphFacts
    predecessors: Predecessors
    arrivals: Mapping[int, Sequence[State]]
    """Node with an event -> the states in which paths arrive there."""
    candidates: Mapping[tuple[Violation, int], Sequence[Candidate]]
    """By violation and node at fault, in the order in which they were met."""
    coarseness: Coarseness = Coarseness.EXACT
    exact: GraphFacts | None = None
    """The facts with nothing forgotten, where this exploration is a coarser one."""
    _successors: dict[PathNode, list[PathNode]] = field(default_factory=dict)

    def successors(self, number: int, state: State) -> list[PathNode]:
        """Where a path can go on from a state that was met: memoised, as each condition is looked at by itself."""
        here = (number, state)
        if here not in self._successors:
            after, _ = transfer(self.facts, number, state)
            self._successors[here] = successors(self.facts, number, after)
        return self._successors[here]

    def feasible(self, candidates: Sequence[Candidate]) -> Candidate | None:
        """The first candidate whose path is one with nothing forgotten, and violates the rule then as well."""
        if self.exact is None:
            return candidates[0]
        return next((each for each in candidates[:_MAX_REPLAYED] if self._holds(each, self.exact)), None)

    def _holds(self, candidate: Candidate, exact: GraphFacts) -> bool:
        """Follow the path to a candidate once more, by facts that forget nothing."""
        numbers = [number for number, _ in self.predecessors.path_to(candidate.node, candidate.state)]
        states = {_start(each for each, _ in candidate.state.optimizers)}
        for number, following in itertools.pairwise(numbers):
            ahead = (step for each in states for step in successors(exact, number, transfer(exact, number, each)[0]))
            states = {state for at, state in ahead if at == following}
        found = (met for each in states for met in transfer(exact, candidate.node, each)[1])
        return any((each.violation, each.optimizer) == (candidate.violation, candidate.optimizer) for each in found)


def explore(graph: Graph) -> list[Exploration]:
    """Explore the paths of a graph, as exactly as the limits allow: one exploration, or one for each optimizer.

    Raises TooManyStatesError where even the coarsest is past them.
    """
    if len(graph.optimizers) > MAX_OPTIMIZERS:
        raise TooManyStatesError
    exact = graph_facts(graph)
    coarsening = Coarsening(exact)
    for coarseness in Coarseness:
        try:
            return [_explored(coarsening, group, coarseness) for group in groups_at(coarseness, graph)]
        except TooManyStatesError:
            if coarseness is Coarseness.JOINED:
                raise
    raise AssertionError("the coarsest exploration has ended or raised")


def _start(optimizers: Iterable[AccessPath]) -> State:
    return State(tuple((name, Typestate()) for name in sorted(optimizers, key=str)))


def _explored(coarsening: Coarsening, optimizers: frozenset[AccessPath], coarseness: Coarseness) -> Exploration:
    """Explore every path, with what the protocol knows of these optimizers."""
    exact = coarseness is Coarseness.EXACT
    facts, graph = coarsening.facts_at(coarseness, optimizers), coarsening.facts.graph
    start: PathNode = (0, _start(optimizers))
    parents: dict[PathNode, PathNode | None] = {start: None}
    seen = {start}
    arrivals: dict[int, list[State]] = {}
    candidates: dict[tuple[Violation, int], list[Candidate]] = {}
    worklist = deque([start])
    most = min(MAX_STATES, MAX_CELLS // max(1, len(optimizers)))
    while worklist:
        here = worklist.popleft()
        number, state = here
        if isinstance(graph.nodes[number].payload, Signal | Backward | ForeignBackward):
            arrivals.setdefault(number, []).append(state)
        after, met = transfer(facts, number, state)
        for each in met:
            candidates.setdefault((each.violation, each.blamed), []).append(each)
        for following in successors(facts, number, after):
            if not exact:
                following = _with_scaled(following, coarsening.scaled_ahead[following[0]])
            known = _without_provenance(following) if coarseness is Coarseness.JOINED else following
            if known in seen:
                continue
            if len(parents) > most:
                raise TooManyStatesError
            seen.add(known)
            parents[following] = here
            worklist.append(following)
    known_exactly = None if exact else coarsening.facts
    return Exploration(facts, Predecessors(graph, parents), arrivals, candidates, coarseness, known_exactly)


def _with_scaled(step: PathNode, ahead: frozenset[AccessPath]) -> PathNode:
    """A step without the scaled losses that no backward ahead is called on."""
    number, state = step
    return step if state.scaled <= ahead else (number, state._replace(scaled=state.scaled & ahead))


def _without_provenance(step: PathNode) -> PathNode:
    number, state = step
    plain = tuple((name, each._replace(provenance=frozenset())) for name, each in state.optimizers)
    return number, state._replace(optimizers=plain)
