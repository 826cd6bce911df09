"""Path-sensitive exploration of an event graph: every feasible path, with the state of the protocol carried along it.

A state is what the protocol knows of each optimizer, the open autocast regions, the variables that hold a scaled
loss, and the conditions already decided on this path. Equal states at a node are explored once, so that loops end by
themselves and independent branches do not multiply.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

from verifygate.base.records import field, record
from verifygate.protocol import Violation
from verifygate.static.lowering.event_graph import Backward, ForeignBackward, Graph, Signal
from verifygate.static.paths.graph_facts import GraphFacts, graph_facts
from verifygate.static.paths.predecessors import Predecessors
from verifygate.static.paths.states import PathNode, State
from verifygate.static.paths.transfer import Candidate, successors, transfer
from verifygate.static.paths.typestate import Typestate

MAX_STATES = 40_000
MAX_CELLS = 2_000_000
"""States times optimizers: each state holds what is known of every optimizer."""
MAX_OPTIMIZERS = 100
"""What a backward leaves in each is worked out against each other one."""


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
    _successors: dict[PathNode, list[PathNode]] = field(default_factory=dict)

    def successors(self, number: int, state: State) -> list[PathNode]:
        """Where a path can go on from a state that was met: memoised, as each condition is looked at by itself."""
        here = (number, state)
        if here not in self._successors:
            after, _ = transfer(self.facts, number, state)
            self._successors[here] = successors(self.facts, number, after)
        return self._successors[here]


def explore(graph: Graph) -> Exploration:
    """Explore every path of a graph. Raises TooManyStatesError past the limits."""
    if len(graph.optimizers) > MAX_OPTIMIZERS:
        raise TooManyStatesError
    facts = graph_facts(graph)
    start: PathNode = (0, State(tuple((name, Typestate()) for name in sorted(graph.optimizers, key=str))))
    parents: dict[PathNode, PathNode | None] = {start: None}
    arrivals: dict[int, list[State]] = {}
    candidates: dict[tuple[Violation, int], list[Candidate]] = {}
    worklist = deque([start])
    most = min(MAX_STATES, MAX_CELLS // max(1, len(graph.optimizers)))
    while worklist:
        here = worklist.popleft()
        number, state = here
        if isinstance(graph.nodes[number].payload, Signal | Backward | ForeignBackward):
            arrivals.setdefault(number, []).append(state)
        after, met = transfer(facts, number, state)
        for each in met:
            candidates.setdefault((each.violation, each.blamed), []).append(each)
        for following in successors(facts, number, after):
            if following in parents:
                continue
            if len(parents) > most:
                raise TooManyStatesError
            parents[following] = here
            worklist.append(following)
    return Exploration(facts, Predecessors(graph, parents), arrivals, candidates)
