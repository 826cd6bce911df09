"""May/must: a violation is met on all feasible paths, on some, or only on one that may be infeasible."""

from __future__ import annotations

from collections.abc import Sequence

from verifygate.protocol import Event, Gradients, ScalerState
from verifygate.static.lowering.event_graph import Backward, Branch
from verifygate.static.paths.assumptions import (
    AN_INF,
    AS_CONFIGURED,
    AS_DECIDED,
    HANDED_IN,
    JOINED,
    LEFT_BEHIND,
    OF_NO_USE,
    assumption,
    runs_what_is_handed_in,
)
from verifygate.static.paths.coarsening import Coarseness
from verifygate.static.paths.error_path import ErrorPath
from verifygate.static.paths.exploration import Exploration
from verifygate.static.paths.necessity import Necessity
from verifygate.static.paths.scaler_attribution import has_own_backward
from verifygate.static.paths.states import PathNode, State
from verifygate.static.paths.transfer import Candidate

_SAMPLE = 50
"""Of the states that arrive at a node, how many are traced back."""

_SCALED_SIDE = frozenset({Gradients.SCALED, Gradients.STALE, Gradients.UNSCALED, Gradients.MIXED})


class CertaintyAnalysis:
    """Classifies the violations that one exploration has met, by the states that arrive at each node."""

    def __init__(self, exploration: Exploration) -> None:
        self.exploration = exploration
        self.nodes = exploration.facts.graph.nodes
        self.arrivals = exploration.arrivals
        self.predecessors = exploration.predecessors

    def assumed(self, candidates: Sequence[Candidate], path: ErrorPath) -> str | None:
        """What a violation assumes: nothing ("", certain) where every feasible path that trains with AMP is one.

        Otherwise some path is (likely). None: the path may be infeasible, and nothing is reported. `candidates` are one
        violation of one statement; `path` leads to the first of them.
        """
        violating = {(each.node, each.state) for each in candidates}
        nodes = {each.node for each in candidates}
        others = [
            (node, state) for node in nodes for state in self.arrivals.get(node, ()) if (node, state) not in violating
        ]
        if self._may_be_infeasible(candidates[0], path, others):
            return None
        if reason := self._by_its_kind(candidates[0], path):
            return reason
        if any(self._counts(*each, candidates[0]) for each in others):
            innocent = [each for each in others if self._counts(*each, candidates[0], midway=True)]
            if innocent and self._is_configured(candidates, path, innocent):
                return AS_CONFIGURED
            found = self._by_choices(candidates[0], path, violating)
            if not found:
                return None if found is None else AS_DECIDED
        return next(filter(None, (assumption(path, each.optimizer) for each in candidates)), "")

    def _by_its_kind(self, first: Candidate, path: ErrorPath) -> str:
        """What a violation of this kind assumes on any path."""
        if isinstance(self.nodes[path.shown].payload, Branch):
            return AN_INF
        if self.exploration.coarseness is Coarseness.JOINED:
            return JOINED
        if first.is_leftover:
            return LEFT_BEHIND
        if first.violation.traits.about_zero_grad:
            if path.wipes_in_a_loop():
                return OF_NO_USE
            if runs_what_is_handed_in(path):
                return HANDED_IN
        return ""

    def _may_be_infeasible(self, first: Candidate, path: ErrorPath, others: list[PathNode]) -> bool:
        """Whether the path needs what no run may do.

        It needs two elements of one kind in a loop over elements of any, or a scaler that the optimizer's own backward
        does not use; or a reading comes after a loop that on other paths leaves the gradients in another state.
        """
        if not (first.optimizer is not None and first.optimizer.is_summary) and path.needs_equal_elements():
            return True
        traits = first.violation.traits
        divides = self.nodes[first.node].payload if traits.about_other_scaler else None
        if has_own_backward([state.optimizers for _, state in others], first.optimizer, divides):
            return True
        left = path.left_loops() if traits.reads_gradients else set()
        return bool(left) and any(self._is_zeroed_in(left, state) for _, state in others)

    def _is_configured(self, candidates: Sequence[Candidate], path: ErrorPath, innocent: list[PathNode]) -> bool:
        """Whether an invariant condition decides: some configuration never violates the rule."""
        decisions = self.predecessors.invariant_decisions
        guilty = frozenset.intersection(*(decisions(each.node, each.state) for each in candidates))
        at_fault = [decisions(path.blamed, state) for state in self.arrivals.get(path.blamed, [])[:_SAMPLE]]
        if guilty and at_fault:
            guilty -= frozenset.intersection(*at_fault)  # without these the statement at fault is not reached at all
        for atom, truth in guilty:
            found = (decisions(*each) for each in innocent)
            opposite = [(atom, not truth) in each for each in found if any(decided == atom for decided, _ in each)]
            if opposite and all(opposite):
                return True
        return False

    def _by_choices(self, first: Candidate, path: ErrorPath, violating: set[PathNode]) -> bool | None:
        """By the conditions that may differ between iterations: a path that needs two of them may be infeasible."""
        choices = path.choices()
        if len(choices) <= 1 and not any(choice.of_element for choice in choices):
            return True
        if not first.optimizer:
            return False
        steps = self.predecessors.path_to(first.node, first.state)
        given = self._always(path.blamed) & self._always(path.shown)
        needed = Necessity(self.exploration.successors, violating, path).needed(steps, given, enough=2)
        return None if len(needed) > 1 or any(choice.of_element for choice in needed) else False

    def _counts(self, number: int, state: State, candidate: Candidate, *, midway: bool = False) -> bool:
        """Whether a state is one of a path that uses the scaler: a path that trains in FP32 proves no innocence.

        `midway`: and the window at hand has begun already. At a backward of an unscaled loss a path counts only if the
        backward's own loop has zeroed the gradients: what came before the loop says nothing about its iterations.
        """
        if not candidate.optimizer:
            return True
        typestate = dict(state.optimizers).get(candidate.optimizer)
        if typestate is None:
            return False
        payload = self.nodes[number].payload
        if isinstance(payload, Backward) and candidate.violation.traits.about_zero_grad and not payload.scaled:
            zeroed = typestate.latest(Event.ZERO_GRAD) if typestate.state.gradients is Gradients.NONE else None
            if zeroed is not None and {*self.nodes[zeroed].loops} & {*self.nodes[number].loops}:
                return True
        begun = (ScalerState.UNSCALED, ScalerState.STEPPED)
        states = begun if midway else (ScalerState.READY, *begun)
        return typestate.state.gradients in _SCALED_SIDE or typestate.state.scaler in states

    def _is_zeroed_in(self, loops: set[int], state: State) -> bool:
        """Whether an iteration of these loops ends with gradients zeroed: then the last iteration decides."""
        zeroed = [node for _, each in state.optimizers if (node := each.latest(Event.ZERO_GRAD)) is not None]
        return any(loops <= set(self.nodes[node].loops) for node in zeroed)

    def _always(self, node: int) -> frozenset[tuple[str, bool]]:
        """How conditions came out, when they were last tested, on every path to an event."""
        decided = [
            frozenset({fact[0].key: fact[1] for fact in self.predecessors.decisions(node, state)}.items())
            for state in self.arrivals.get(node, [])[:_SAMPLE]
        ]
        return frozenset.intersection(*decided) if decided else frozenset()
