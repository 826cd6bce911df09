"""Walk an event graph: every feasible path, with the state of the protocol carried along it.

A state is what the protocol knows of each optimizer, the open autocast regions, the variables that hold a scaled
loss, and the conditions already decided on this path. States that are equal are walked once, so loops end by
themselves and independent branches do not multiply.
"""

from __future__ import annotations

from collections import deque

from verifygate.base.records import record
from verifygate.protocol import Breach, Event, Gradients, Window, advance
from verifygate.static.conditions.predicates import Atom, Fact, is_below
from verifygate.static.lowering.event_graph import (
    Assign,
    Backward,
    Branch,
    Enter,
    ForeignBackward,
    Graph,
    Iterate,
    Leave,
    Node,
    Signal,
)
from verifygate.static.paths.certainty import Certainty, Sighting
from verifygate.static.paths.condition_liveness import counts, ended, implied, live, next_turns
from verifygate.static.paths.error_path import told
from verifygate.static.paths.optimizer_state import Track, Turn, advanced, is_earlier, passed_over, turned, weakly
from verifygate.static.paths.path_triage import Way, asks_gradients
from verifygate.static.paths.predecessors import Past, Step
from verifygate.static.paths.scaler_attribution import is_anothers, noted, scaled_by, served_by
from verifygate.static.paths.states import Span, State, decided
from verifygate.static.symbols.location import Place

MAX_STATES = 40_000


class TooManyStatesError(Exception):
    """The graph has more states than the limit."""


@record
class Hit:
    """One breach: the rule, the place at fault, where it showed, and the events that led there."""

    rule: str
    place: Place
    shown_at: Place
    certain: bool
    path: tuple[tuple[Place, str], ...]
    """Each event on the way, with its name, and the calls between them."""
    optimizer: str = ""


class Walk:
    """One walk of one graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.parents: dict[Step, Step | None] = {}
        self.sightings: dict[tuple[str, int], list[Sighting]] = {}
        self.arrivals: dict[int, list[State]] = {}
        self._switches: dict[str, Atom] = {}
        """Canonical path of a variable -> the condition that asks for nothing but it."""
        self._alive: dict[int, list[str]] = {}
        self._scalers: dict[str, set[str]] = {}
        """Optimizer -> the scalers that are seen to unscale or step it."""
        self._never_zeroed: set[str] = set()
        self._asks_gradients = False
        self._of_several: set[str] = set()
        self._scaled_by: dict[int, frozenset[str]] = {}
        """Node with a backward -> the scalers that may have scaled its loss, where there are several."""
        self._voids: list[frozenset[Atom]] = []
        """Node -> the conditions that it makes void."""
        self._matters: list[frozenset[Atom]] = []
        """Node -> the conditions that are still asked for there or later."""
        self._bound_anew: dict[int, list[str]] = {}
        """Node with an assignment -> the optimizers whose names mean another from there on."""
        self._next_turns: dict[Atom, Atom] = {}
        self._implied: dict[Fact, frozenset[Fact]] = {}
        self._is_over = False
        """Every state has been met: what is asked now is asked again."""
        self._again: dict[Step, list[Step]] = {}
        """The answers to that."""

    def run(self) -> list[Hit]:
        """Walk everything. Raises TooManyStatesError past the limit."""
        if not self.graph.scalers and not any(_is_mixed(node) for node in self.graph.nodes):
            return []  # neither scaling nor autocast: no breach can be met
        self._past: Past = Past(self.graph, self.parents)
        self._never_zeroed = self.graph.never_zeroed()
        self._asks_gradients = any(map(asks_gradients, self.graph.nodes))
        self._voids = ended(self.graph)
        self._matters = live(self.graph, self._voids)
        self._next_turns = next_turns(self.graph)
        self._implied = implied(self.graph)
        tested = {node.payload.atom for node in self.graph.nodes if isinstance(node.payload, Branch)}
        self._alive = self.graph.optimizers_in_scope()
        self._scaled_by = scaled_by(self.graph)
        self._switches = {next(iter(atom.mentions)): atom for atom in tested if atom.mentions == {atom.text}}
        for node in self.graph.nodes:
            if isinstance(node.payload, Signal) and node.payload.scaler and node.payload.optimizer:
                self._scalers.setdefault(node.payload.optimizer, set()).add(node.payload.scaler)
                self._of_several |= {node.payload.scaler} if node.payload.is_any else set()
        for number, node in enumerate(self.graph.nodes):
            if isinstance(node.payload, Assign):  # the variable of a loop over a collection stays the one watched
                names = (name for name in self.graph.optimizers if name not in node.collections)
                self._bound_anew[number] = [name for name in names if self._goes_with(node.payload, name)]
        start = State(tuple((name, Track()) for name in sorted(self.graph.optimizers)))
        queue = deque([(0, start)])
        self.parents[(0, start)] = None
        while queue:
            number, state = queue.popleft()
            for step in self._onward(number, state):
                if step in self.parents:
                    continue
                if len(self.parents) > MAX_STATES:
                    raise TooManyStatesError
                self.parents[step] = (number, state)
                queue.append(step)
        return self._hits()

    def _goes_with(self, assign: Assign, optimizer: str) -> bool:
        """Whether assigning to a name brings another optimizer: itself, or in a new object that holds its scaler.

        Such an object's optimizer is known by a parameter of the constructor, which nobody runs here.
        """
        if is_below(optimizer, assign.target) or assign.advances:
            return is_below(optimizer, assign.target)
        scalers = self._scalers.get(optimizer, ())
        return any(each.startswith(f"{assign.target}.") for each in scalers) and not self.graph.is_local(optimizer)

    # -- one step ----------------------------------------------------------------------------------------------

    def _onward(self, number: int, state: State) -> list[Step]:
        """Where a run that is at a node in a state can go from there."""
        node = self.graph.nodes[number]
        after = self._apply(number, node, state)
        if after is None:
            return []
        steps = []
        for successor, fact in node.successors:
            following = decided(after, fact, self._matters[successor], self._implied)
            if following is not None:
                steps.append((successor, following))
        return steps

    def _onward_again(self, number: int, state: State) -> list[Step]:
        """The same, once every state has been met: it is asked for one condition after the other."""
        step = (number, state)
        if step not in self._again:
            self._again[step] = self._onward(number, state)
        return self._again[step]

    def _apply(self, number: int, node: Node, state: State) -> State | None:
        """The state after a node; None where no run can be in this state there."""
        match node.payload:
            case Signal() as signal:
                self._arrive(number, state)
                span = state.span
                if signal.event in (Event.SCALER_STEP, Event.OPTIMIZER_STEP, Event.CHECKED_STEP):
                    self._in_region("AMP102", number, state)
                    span = self._step_in_span(number, signal.optimizer, state)
                return self._signal(number, signal, state)._replace(span=span)
            case Backward() as backward:
                self._arrive(number, state)
                self._in_region("AMP101", number, state)
                scaled = not backward.idle and (backward.scaled or bool(backward.roots & state.scaled))
                after = self._backward(number, Event.SCALED_BACKWARD if scaled else Event.PLAIN_BACKWARD, state)
                after = after._replace(tracks=noted(after.tracks, self._scaled_by.get(number)))
                if state.span is not None and state.span.stepped:
                    used = frozenset((name, True) for name, _ in state.span.stepped)
                    return after._replace(span=state.span._replace(stepped=used))
                return after
            case ForeignBackward():
                self.arrivals.setdefault(number, []).append(state)
                self._in_region("AMP101", number, state)
                return state._replace(tracks=noted(state.tracks, self._scaled_by.get(number)))
            case Enter(active=active, caches=caches):
                span = state.span or Span(number)
                span = span._replace(caches=span.caches or (active and caches))
                return state._replace(regions=(*state.regions, active), span=span)
            case Leave():
                return state._replace(regions=state.regions[:-1], span=state.span if state.regions[1:] else None)
            case Assign() as assign:
                return self._assign(number, assign, state)
            case Iterate() as member:
                tracks = turned(state.tracks, member)
                return state._replace(tracks=tracks) if tracks is not None else None
        return state

    def _arrive(self, number: int, state: State) -> None:
        if not self._is_over:
            self.arrivals.setdefault(number, []).append(state)

    def _in_region(self, rule: str, number: int, state: State) -> None:
        if state.regions and state.regions[-1]:
            self._sight(rule, number, number, state, "")

    def _step_in_span(self, number: int, optimizer: str, state: State) -> Span | None:
        """The span after a step: the second of an optimizer, with a backward between, uses old casts of the weights."""
        span = state.span
        if span is None or not span.caches or "[*]" in optimizer:
            return span
        if (optimizer, True) in span.stepped:
            self._sight("AMP104", span.entered, number, state, optimizer)
            return span
        return span._replace(stepped=span.stepped | {(optimizer, False)})

    def _signal(self, number: int, signal: Signal, state: State) -> State:
        if signal.event is Event.UPDATE:
            served = served_by(signal, state.tracks, self._scalers, self._of_several)
            tracks = dict(state.tracks)
            asked = [name for name in served if name in self._scalers]
            known = asked and not any("[*]" in name for name in asked)  # else other members may have been stepped
            if known and not signal.sets_scale and all(tracks[name].state.window is Window.READY for name in asked):
                self._sight("AMP210", number, number, state, asked[0])
            return self._each(number, signal.event, state, served)
        return self._each(number, signal.event, state, self._targets(number, signal, state))

    def _targets(self, number: int, signal: Signal, state: State) -> list[str]:
        """The optimizers whose gradients a signal is about; where that cannot be told, none that could be innocent."""
        if signal.optimizer:
            return [signal.optimizer]
        names = self._alive[number]
        if len(names) == 1:
            return names
        shared = {name: len(self.graph.optimizers[name] & signal.names) for name in names}
        if most := max(shared.values(), default=0):  # `model.encoder` is nearer to `model.encoder` than to `model.head`
            names = [name for name in names if shared[name] == most]
            if len(names) == 1 or len({name.rpartition(".")[2] for name in names}) > 1:
                return names  # else two objects of a kind, or one that went by another name while it was made
        if signal.event in (Event.CLIP, Event.READ):
            tracks = dict(state.tracks)
            at_fault = [advance(tracks[name].state, signal.event)[1] is not None for name in names]
            return names if at_fault and all(at_fault) else []
        return names

    def _backward(self, number: int, event: Event, state: State) -> State:
        alive = self._alive[number]
        if len(alive) == 1:
            return self._each(number, event, state, alive)
        reached = {name for name, track in state.tracks if name in alive and self._in_turn(number, name, track)}
        for name, track in state.tracks:
            if name in reached and track.state.gradients is Gradients.SPENT and name in self._never_zeroed:
                self._sight("AMP212", number, number, state, name)
        tracks = tuple(
            (name, weakly(track, event, number) if name in reached and track.touched else track)
            for name, track in state.tracks
        )
        return state._replace(tracks=tracks)

    def _each(self, number: int, event: Event, state: State, names: list[str]) -> State:
        tracks = []
        payload = self.graph.nodes[number].payload
        aimed = isinstance(payload, Signal) and bool(payload.optimizer)
        for name, track in state.tracks:
            if name in names:
                if event is not Event.UPDATE and not self._in_turn(number, name, track):
                    tracks.append((name, passed_over(track, event, aimed)))
                    continue
                if event is Event.ZERO_GRAD and track.state.gradients is Gradients.SCALED and self._asks_gradients:
                    self._sight("AMP214", number, number, state, name)
                if isinstance(payload, Signal) and is_anothers(track, payload):
                    self._sight("AMP217", number, number, state, name)
                    track = track._replace(scales=frozenset())
                following, breach = advanced(track, event, number, aimed=aimed)
                if breach is not None and not _is_unused(name, breach, event):
                    blamed = number if breach.blame is event and not is_earlier(breach) else track.mark(breach.blame)
                    self._sight(breach.rule, blamed if blamed is not None else number, number, state, name)
                track = following
            tracks.append((name, track))
        return state._replace(tracks=tuple(tracks))

    def _in_turn(self, number: int, name: str, track: Track) -> bool:
        """Whether what a loop over a collection does at a node is done to the member that is watched."""
        return track.turn in (None, Turn.OWN) or name not in self.graph.nodes[number].collections

    def _sight(self, rule: str, blamed: int, number: int, state: State, optimizer: str) -> None:
        if not self._is_over:
            sightings = self.sightings.setdefault((rule, blamed), [])
            sightings.append(Sighting(rule, blamed, number, state, optimizer))

    def _assign(self, number: int, assign: Assign, state: State) -> State:
        scaled = state.scaled
        if assign.scaled or (scaled and assign.sources.paths & scaled):
            scaled = scaled | {assign.target}
        elif assign.target in scaled and not assign.augments:
            scaled = scaled - {assign.target}
        facts = state.facts
        if facts and (voids := self._voids[number]):
            over = frozenset(fact for fact in facts if fact[0] in voids)
            turns, node = self._next_turns, self.graph.nodes[number]
            facts = facts - over | {
                (turns[each], truth) for each, truth in over if each in turns and counts(node, each)
            }
        if assign.truth is not None and (atom := self._switches.get(assign.target)):
            facts |= {(atom, assign.truth)}
        span = state.span
        if span is not None and any(is_below(name, assign.target) for name, _ in span.stepped):
            # another optimizer goes by this name now
            kept = frozenset(each for each in span.stepped if not is_below(each[0], assign.target))
            span = span._replace(stepped=kept)
        tracks = state.tracks
        if anew := self._bound_anew[number]:
            tracks = tuple((name, Track() if name in anew else track) for name, track in tracks)
        if (scaled, facts, span, tracks) == (state.scaled, state.facts, state.span, state.tracks):
            return state
        return state._replace(scaled=scaled, facts=facts, span=span, tracks=tracks)

    # -- from sightings to hits --------------------------------------------------------------------------------

    def _hits(self) -> list[Hit]:
        self._is_over = True
        hits: dict[tuple[str, int], Hit] = {}
        certainty = Certainty(self.graph, self.arrivals, self._past, self._onward_again)
        for (rule, blamed), sightings in self.sightings.items():
            first = sightings[0]
            numbers = [number for number, _ in self._past.steps(first.node, first.state)]
            way = Way(self.graph, numbers, blamed, self._past.volatile)
            verdict, at_fault = way.verdict(rule)
            # asked second: whether other paths are innocent takes far longer to find out
            certain = certainty.of(sightings, way) if verdict else None
            if certain is None:
                continue
            hits.setdefault(
                (verdict, at_fault),
                Hit(
                    verdict,
                    self.graph.nodes[at_fault].place,
                    self.graph.nodes[first.node].place,
                    certain,
                    told(self._path(first)),
                    first.optimizer,
                ),
            )
        return list(hits.values())

    def _path(self, sighting: Sighting) -> list[Node]:
        """The events on the way to the breach, from the last point at which nothing was pending."""
        numbers = [
            number
            for number, _ in self._past.steps(sighting.node, sighting.state)
            if isinstance(self.graph.nodes[number].payload, Signal | Backward | ForeignBackward | Enter | Leave)
        ]
        start = 0
        for index, number in enumerate(numbers[:-1]):
            payload = self.graph.nodes[number].payload
            if isinstance(payload, Signal) and payload.event is Event.UPDATE and number != sighting.blamed:
                start = index + 1
            if number == sighting.blamed:
                break
        return [self.graph.nodes[number] for number in numbers[start:]]


def _is_mixed(node: Node) -> bool:
    return isinstance(node.payload, Enter) or (isinstance(node.payload, Backward | Assign) and node.payload.scaled)


def _is_unused(name: str, breach: Breach, event: Event) -> bool:
    """Gradients of two scales that a member of a collection may never step with: the step will tell."""
    return "[*]" in name and breach.rule == "AMP210" and event is Event.SCALED_BACKWARD
