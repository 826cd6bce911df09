"""How sure a breach is: on every feasible path, on some, or on a way that no run may ever go."""

from __future__ import annotations

from verifygate.base.records import record
from verifygate.protocol import Event, Gradients, Window
from verifygate.static.lowering.event_graph import Backward, Graph
from verifygate.static.paths.necessity import Detours, Onward
from verifygate.static.paths.path_triage import OF_ONE, Way
from verifygate.static.paths.predecessors import Past
from verifygate.static.paths.scaler_attribution import has_its_own
from verifygate.static.paths.states import State

_SAMPLE = 50
"""Of the states that arrive at a statement, how many are asked what brought them there."""

_SCALER_SIDE = frozenset({Gradients.SCALED, Gradients.STALE, Gradients.UNSCALED, Gradients.MIXED})


@record(eq=False)
class Sighting:
    """A breach as met in the walk: at a node, in a state."""

    breach_rule: str
    blamed: int
    node: int
    state: State
    optimizer: str


class Certainty:
    """Answers for the breaches that one walk has met, from the states that came to each node."""

    def __init__(self, graph: Graph, arrivals: dict[int, list[State]], past: Past, onward: Onward) -> None:
        self.graph = graph
        self.arrivals = arrivals
        self.past = past
        self.onward = onward

    def of(self, sightings: list[Sighting], way: Way) -> bool | None:
        """Whether every feasible AMP path that reaches the statement breaks the rule there, sooner or later.

        None where the way found needs two conditions that change as it runs, or two objects of one kind in a loop over
        objects of any, or a reading comes after the loop that left the gradients in another state on other paths: it
        may not be feasible at all.
        """
        if "[*]" not in sightings[0].optimizer and way.needs_two_alike():
            return None
        nodes = {sighting.node for sighting in sightings}
        broken = {(sighting.node, sighting.state) for sighting in sightings}
        others = [
            (node, state) for node in nodes for state in self.arrivals.get(node, ()) if (node, state) not in broken
        ]
        divides = self.graph.nodes[sightings[0].node].payload if sightings[0].breach_rule == "AMP217" else None
        if has_its_own([state.tracks for _, state in others], sightings[0].optimizer, divides):
            return None
        left = way.left_loops() if sightings[0].breach_rule == "AMP204" else set()
        if left and any(self._is_zeroed_in(left, state) for _, state in others):
            return None
        if not any(self._concerned(*each, sightings[0]) for each in others):
            return True
        innocent = [each for each in others if self._concerned(*each, sightings[0], midway=True)]
        guilty = frozenset.intersection(*(self.past.settings(each.node, each.state) for each in sightings))
        at_fault = [self.past.settings(way.blamed, state) for state in self.arrivals.get(way.blamed, [])[:_SAMPLE]]
        if guilty and at_fault:
            guilty -= frozenset.intersection(*at_fault)  # without these the statement at fault is not reached at all
        for atom, truth in guilty if innocent else ():
            settings = (self.past.settings(*each) for each in innocent)
            asked = [(atom, not truth) in each for each in settings if any(found == atom for found, _ in each)]
            if asked and all(asked):
                return False  # decided by a setting: some configuration never breaks the rule
        choices = way.choices()
        if len(choices) <= 1 and not any(choice.startswith(OF_ONE) for choice in choices):
            return True
        if not sightings[0].optimizer:
            return False
        steps = self.past.steps(sightings[0].node, sightings[0].state)
        given = self._always(way.blamed) & self._always(way.shown)
        needed = Detours(self.onward, broken, way).needed(steps, given, enough=2)
        return None if len(needed) > 1 or any(choice.startswith(OF_ONE) for choice in needed) else False

    def _concerned(self, number: int, state: State, sighting: Sighting, *, midway: bool = False) -> bool:
        """Whether a state is on the scaler's side of the road: a path that trains in FP32 proves no innocence.

        Midway: and something of the window at hand has happened already. Of a backward without scale only paths on
        which its own loop has zeroed the gradients tell: what came before the loop says nothing of its turns.
        """
        if not sighting.optimizer:
            return True
        track = dict(state.tracks).get(sighting.optimizer)
        if track is None:
            return False
        payload = self.graph.nodes[number].payload
        if isinstance(payload, Backward) and sighting.breach_rule == "AMP212" and not payload.scaled:
            zeroed = track.mark(Event.ZERO_GRAD) if track.state.gradients is Gradients.NONE else None
            if zeroed is not None and {*self.graph.nodes[zeroed].loops} & {*self.graph.nodes[number].loops}:
                return True
        windows = (Window.UNSCALED, Window.STEPPED) if midway else (Window.READY, Window.UNSCALED, Window.STEPPED)
        return track.state.gradients in _SCALER_SIDE or track.state.window in windows

    def _is_zeroed_in(self, loops: set[int], state: State) -> bool:
        """Whether a turn of these loops ends with gradients zeroed: how the last one ended decides what is read."""
        zeroed = [mark for _, track in state.tracks if (mark := track.mark(Event.ZERO_GRAD)) is not None]
        return any(loops <= set(self.graph.nodes[mark].loops) for mark in zeroed)

    def _always(self, node: int) -> frozenset[tuple[str, bool]]:
        """How conditions came out, when they were last asked, on every way to an event."""
        ways = [
            frozenset({fact[0].text: fact[1] for fact in self.past.decisions(node, state)}.items())
            for state in self.arrivals.get(node, [])[:_SAMPLE]
        ]
        return frozenset.intersection(*ways) if ways else frozenset()
