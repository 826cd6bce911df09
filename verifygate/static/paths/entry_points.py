"""Walk every way of training in the project, and put together what breaks the protocol on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from verifygate.base.records import replace
from verifygate.model import NotFollowed
from verifygate.protocol import Event
from verifygate.static.amp.roles import Roles
from verifygate.static.lowering.builder import TooLargeError
from verifygate.static.lowering.event_graph import Backward, Graph, Signal
from verifygate.static.lowering.lower import Lowering
from verifygate.static.lowering.reachability import Reach
from verifygate.static.paths.exploration import Hit, TooManyStatesError, Walk
from verifygate.static.symbols.location import Place
from verifygate.static.symbols.program import Class, Function, Module, Program
from verifygate.static.values.domain import Frame
from verifygate.static.values.evaluator import Evaluator

NODES_AT_LEAST = 20_000
NODES_PER_MODULE = 1_000
"""How many event nodes are walked in all; a real training script with all that it calls has a few hundred."""
SHARE_OF_TESTS = 10
"""Tests get a tenth of that: those of a training framework each walk the same engine from another place."""
_ACROSS_STEPS = frozenset({"AMP202", "AMP203", "AMP209", "AMP210", "AMP214"})
"""What a step may leave for the next one. Gradients may be zeroed between the two by what calls it."""
_Spot = tuple[str, int, int]
"""Path, line, column."""


class Walks:
    """The walks from every root of a project."""

    def __init__(self, program: Program, modules: Sequence[Module], roles: Roles) -> None:
        self.not_followed: list[NotFollowed] = []
        """What no walk followed, and why; complete once hits() was asked."""
        self._program = program
        self._modules = list(modules)
        self._roles = roles
        self._led_past: list[Function] = []
        """Roots in which a constant leads past something that trains."""
        self._frames: dict[Function, Frame | None] = {}
        """Parts of roots that are too large -> what the one call of each hands over."""
        self._come_to: set[_Spot] = set()
        """Where some walk comes."""

    def hits(self) -> list[Hit]:
        """The breaches of the protocol, one per rule and place, in order of both."""
        found: dict[tuple[str, _Spot], Hit] = {}
        for hit in self._walk_all():
            key = (hit.rule, _spot(hit.place))
            earlier = found.get(key)
            if earlier is None or (earlier.certain and not hit.certain):
                found[key] = hit  # from another root the same place may be right: then it is only likely
        for hit in self._once_edited():
            found.setdefault((hit.rule, _spot(hit.place)), hit)
        return [hit for _, hit in sorted(found.items(), key=lambda item: item[0])]

    def _walk_all(self) -> Iterator[Hit]:
        """Walk every root; one that is too large is walked as the functions it calls, and the report says so."""
        reach = Reach(self._roles)
        queue = sorted(reach.roots(self._modules), key=lambda root: root.module.file.is_test)
        seen: set[Function] = set(queue)
        walked: set[Function] = set()
        entered: set[Function] = set()
        """What was walked whole from a root that adds nothing to it: from a second such root it is the same."""
        most = NODES_AT_LEAST + NODES_PER_MODULE * len(self._modules)
        nodes_left = {False: most, True: max(NODES_AT_LEAST, most // SHARE_OF_TESTS)}
        while queue:
            root = queue.pop(0)
            if root.module.file.is_test and not reach.has_own_events(root):
                # a test that only calls the program: the program is walked once, not once a test
                inner = _in_order(reach.callees(root) - seen)
                seen.update(inner)
                queue += inner
                continue
            entrance = reach.entered(root)
            if entrance in entered:
                continue
            is_test = root.module.file.is_test
            if nodes_left[is_test] <= 0:
                self._not_walked(
                    root, f"is not walked: {'the tests come' if is_test else 'the program comes'} to too much"
                )
                continue
            lowering = Lowering(root, self._roles, reach, self._frames.get(root))
            try:
                graph = lowering.lower()
                hits = self._hits(graph, reach)
                yield from hits
                self._led_past += [root] if lowering.leads_past else []
                self._come_to.update(_spot(node.place) for node in graph.nodes)
                walked |= graph.functions
                entered |= {entrance} if entrance is not None else set()
                if _is_one_step(graph):
                    yield from self._next_step(root, reach, hits)
                self.not_followed += lowering.not_followed
            except (TooLargeError, TooManyStatesError):
                self._not_walked(root, "has too many paths to walk whole: walked in parts")
                walked.add(root)
                parts = reach.parts(root, self._frames.get(root))
                self._frames |= {part: entered for part, entered in parts.items() if part not in seen}
                queue += [part for part in parts if part not in seen]
                seen.update(parts)
            nodes_left[is_test] -= len(lowering.graph.nodes)
            if not queue:
                queue = self._left_over(reach, walked, seen)

    def _hits(self, graph: Graph, reach: Reach) -> list[Hit]:
        """The breaches of a graph. A method that several classes complete is walked once for each.

        An object is of one of them: a way through the step of one and the step of another is none.
        """
        heirs = self._heirs(graph)
        if len(heirs) < 2:
            return Walk(graph).run()
        graphs = [Lowering(graph.root, self._roles, reach).lower(heir) for heir in heirs]
        return [hit for each in graphs for hit in Walk(each).run()]

    def _heirs(self, graph: Graph) -> list[Class]:
        """The classes below a method's own whose methods it runs, in order."""
        own = graph.root.owner
        owners = {function.owner: None for function in _in_order(graph.functions)} if own is not None else {}
        return [made for made in owners if made not in (None, own) and own in self._roles.evaluator.linearised(made)]

    def _next_step(self, root: Function, reach: Reach, hits: list[Hit]) -> Iterator[Hit]:
        """What only the next call of a step shows, where nothing in sight says what happens between two."""
        known = {(hit.rule, hit.place) for hit in hits}
        try:
            again = Walk(Lowering(root, self._roles, reach).lower(again=True)).run()
        except (TooLargeError, TooManyStatesError):
            return
        for hit in again:
            if hit.rule in _ACROSS_STEPS and (hit.rule, hit.place) not in known:
                yield replace(hit, certain=False)

    def _once_edited(self) -> Iterator[Hit]:
        """What runs do once somebody edits a switch that a file sets, `USE_AMP = False`, where none comes as it is."""
        if not self._led_past:
            return
        evaluator = Evaluator(self._program, self._modules, settings_hold=False)
        roles = Roles(evaluator)
        reach = Reach(roles)
        for root in self._led_past:
            try:
                hits = Walk(Lowering(root, roles, reach).lower()).run()
            except (TooLargeError, TooManyStatesError):
                continue
            for hit in hits:
                new = next((n for n, (place, _) in enumerate(hit.path) if _spot(place) not in self._come_to), None)
                if new is not None:
                    place, what = hit.path[new]
                    path = (*hit.path[:new], (place, f"{what}, once a switch is edited"), *hit.path[new + 1 :])
                    yield replace(hit, certain=False, path=path)
        evaluator.forget()

    def _not_walked(self, root: Function, how: str) -> None:
        place = Place(root, root.node)
        reason = f"{root.symbol or 'the module'} {how}"
        self.not_followed.append(NotFollowed(path=place.path, line=place.line, reason=reason))

    def _left_over(self, reach: Reach, walked: set[Function], seen: set[Function]) -> list[Function]:
        """Functions with events that no root led to: calls that could not be followed, cycles, overridden methods.

        A method is first led to by what the objects of its own class begin with.
        """
        left = [function for function in reach.candidates(self._modules) if function not in walked | seen]
        first = [each for each in reach.outermost(left) if each not in seen]
        seen.update(first or left)
        return first or left


def _spot(place: Place) -> _Spot:
    return place.path, place.line, place.column


def _is_one_step(graph: Graph) -> bool:
    """Whether a function that nothing in sight calls trains by one step: something calls it for each."""
    events = [node.payload.event for node in graph.nodes if isinstance(node.payload, Signal) and not node.loops]
    backwards = any(isinstance(node.payload, Backward) and node.payload.scaled for node in graph.nodes)
    return bool(graph.root.symbol) and backwards and Event.SCALER_STEP in events and Event.ZERO_GRAD in events


def _in_order(functions: set[Function]) -> list[Function]:
    return sorted(functions, key=lambda function: (function.module.path, function.symbol))
