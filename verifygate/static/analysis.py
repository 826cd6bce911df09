"""One analysis of a project: everything a rule may ask, worked out once and only when a rule asks."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from typing import TypeVar

from verifygate.model import NotFollowed
from verifygate.protocol import Event
from verifygate.record import replace
from verifygate.static.accelerators import Accelerators
from verifygate.static.builder import TooLargeError
from verifygate.static.callers import Callers
from verifygate.static.checkpoints import Checkpoints
from verifygate.static.companions import Companions
from verifygate.static.covered import Covered
from verifygate.static.delegated import Delegated
from verifygate.static.devices import Devices
from verifygate.static.evaluate import Evaluator
from verifygate.static.flow import Hit, TooManyStatesError, Walk
from verifygate.static.graph import Backward, Graph, Place, Signal
from verifygate.static.halves import Halves
from verifygate.static.held import Held
from verifygate.static.hot import Hot
from verifygate.static.lower import Lowering
from verifygate.static.made_scalers import MadeScaler, made_scalers
from verifygate.static.nesting import Nesting
from verifygate.static.precision import Precision
from verifygate.static.program import Class, Function, Module, Node, Program
from verifygate.static.reach import Reach
from verifygate.static.regions import WrittenRegion, WrittenRegions
from verifygate.static.roles import Roles
from verifygate.static.scaler_calls import ScalerCall, scaler_calls
from verifygate.static.shapes import Shapes
from verifygate.static.syntax import walk
from verifygate.timings import OFF, Timings

T = TypeVar("T")


class shared(cached_property[T]):  # noqa: N801 - used like cached_property
    """What several rules ask for, worked out for the first of them, and timed by itself."""

    def __get__(self, instance: object, owner: type | None = None) -> T:  # type: ignore[override]
        with instance.timings.part(f"for several rules: {str(self.attrname).strip('_').replace('_', ' ')}"):  # type: ignore[attr-defined]
            return super().__get__(instance, owner)


NODES_AT_LEAST = 20_000
NODES_PER_MODULE = 1_000
"""How many event nodes are walked in all; a real training script with all that it calls has a few hundred."""


class Analysis:
    """What the rules see. `modules` are the files that were picked; others are parsed when imported."""

    def __init__(self, program: Program, timings: Timings = OFF) -> None:
        self.timings = timings
        self.program = program
        self.modules = [module for path in program.picked if (module := program.module(path)) is not None]
        self.evaluator = Evaluator(self.program, self.modules)
        self.roles = Roles(self.evaluator)
        self.shapes = Shapes(self.evaluator, self.modules)
        self.nesting = Nesting()
        self.held = Held(self.roles, self.nesting)
        self.halves = Halves(self.roles)
        self.not_followed: list[NotFollowed] = []
        self._led_past: list[Function] = []
        """Roots in which a constant leads past something that trains."""
        self._come_to: set[_Spot] = set()
        """Where some walk comes."""

    @shared
    def functions(self) -> list[Function]:
        """Every function of the picked modules, and the body of each module."""
        return [function for module in self.modules for function in module.all_functions]

    def of_kind(self, kind: type[Node]) -> Iterator[tuple[Node, Function]]:
        """Every node of a kind with the function to evaluate it in: in bodies, decorators, class bodies."""
        for module in self.modules:
            for function in module.all_functions:
                yield from ((node, function) for node in function.of_kind(kind))
            definitions: list[Function | Class] = [*module.functions.values(), *module.classes.values()]
            for definition in definitions:
                for decorator in getattr(definition.node, "decorator_list", ()):
                    yield from ((node, module.body) for node in walk(decorator) if isinstance(node, kind))
            for made in module.classes.values():
                yield from ((node, module.body) for node in made.own_nodes if isinstance(node, kind))

    @shared
    def calls(self) -> list[tuple[ast.Call, Function]]:
        """Every call in the picked modules."""
        return list(self.of_kind(ast.Call))

    @shared
    def hot(self) -> Hot:
        """The loops that train or evaluate, and what runs in every turn of them."""
        return Hot(self.roles, self.modules)

    @shared
    def written_regions(self) -> WrittenRegions:
        """The autocast regions as they stand in the source."""
        return WrittenRegions(self.modules, self.roles)

    @shared
    def callers(self) -> Callers:
        """Who calls whom in the picked modules."""
        return Callers(self.evaluator, self.modules)

    @shared
    def made_scalers(self) -> list[MadeScaler]:
        """Where the picked modules build scalers."""
        return made_scalers(self.evaluator, self.modules)

    @shared
    def checkpoints(self) -> Checkpoints:
        """Where optimizers' states are saved and loaded."""
        return Checkpoints(self.program.sources, self.roles, self.nesting, self.functions)

    @shared
    def precision(self) -> Precision:
        """Which dtype regions compute in, and which of them a scaler serves."""
        return Precision(self.roles, self.written_regions, self.callers, self.companions, self.nesting)

    @shared
    def covered(self) -> Covered:
        """Which functions run inside a region."""
        return Covered(self.roles, self.written_regions, self.callers, self.companions, self.nesting, self.modules)

    @shared
    def delegated(self) -> Delegated:
        """Which modules a framework runs in float16."""
        return Delegated(self.evaluator, self.companions, self.modules)

    @shared
    def devices(self) -> Devices:
        """Which device types an expression may name."""
        return Devices(self.roles)

    @shared
    def accelerators(self) -> Accelerators:
        """Which regions may run on accelerators that their scaler is not for."""
        return Accelerators(self.precision, self.devices, self.companions, self.program.sources)

    def region_devices(self, region: WrittenRegion) -> frozenset[str]:
        """The device types that a region is for; `?` stands for one that the source does not tell."""
        device = region.region.device
        if device is None:
            return frozenset({"?"})
        if isinstance(device, str):
            return frozenset({device})
        return self.devices.types(device.expr, device.frame)

    @shared
    def scaler_calls(self) -> list[ScalerCall]:
        """The calls of scalers' methods in the picked modules."""
        return scaler_calls(self.functions, self.roles)

    @shared
    def companions(self) -> Companions:
        """Which files run together."""
        return self.program.companions

    def hits(self, code: str) -> list[Hit]:
        """The breaches of the protocol that bear a rule's code, one per place, in order of place."""
        return self._protocol.get(code, [])

    @shared
    def _protocol(self) -> dict[str, list[Hit]]:
        found: dict[tuple[str, str, int, int], Hit] = {}
        for hit in self._walk_all():
            key = (hit.rule, *_spot(hit.place))
            earlier = found.get(key)
            if earlier is None or (earlier.certain and not hit.certain):
                found[key] = hit  # from another root the same place may be right: then it is only likely
        for hit in self._once_edited():
            found.setdefault((hit.rule, *_spot(hit.place)), hit)
        grouped: dict[str, list[Hit]] = {}
        for _, hit in sorted(found.items(), key=lambda item: item[0]):
            grouped.setdefault(hit.rule, []).append(hit)
        return grouped

    def _walk_all(self) -> Iterator[Hit]:
        """Walk every root; one that is too large is walked as the functions it calls, and the report says so."""
        reach = Reach(self.roles)
        queue = sorted(reach.roots(self.modules), key=lambda root: root.module.file.is_test)
        seen: set[Function] = set(queue)
        walked: set[Function] = set()
        entered: set[Function] = set()
        """What was walked whole from a root that adds nothing to it: from a second such root it is the same."""
        nodes_left = NODES_AT_LEAST + NODES_PER_MODULE * len(self.modules)
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
            if nodes_left <= 0:
                self._not_walked(root, "is not walked: the program is too large")
                continue
            lowering = Lowering(root, self.roles, reach)
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
                inner = _in_order(reach.callees(root) - seen)
                seen.update(inner)
                queue += inner
            nodes_left -= len(lowering.graph.nodes)
            if not queue:
                queue = self._left_over(reach, walked, seen)

    def _hits(self, graph: Graph, reach: Reach) -> list[Hit]:
        """The breaches of a graph. A method that several classes complete is walked once for each.

        An object is of one of them: a way through the step of one and the step of another is none.
        """
        heirs = self._heirs(graph)
        if len(heirs) < 2:
            return Walk(graph).run()
        graphs = [Lowering(graph.root, self.roles, reach).lower(heir) for heir in heirs]
        return [hit for each in graphs for hit in Walk(each).run()]

    def _heirs(self, graph: Graph) -> list[Class]:
        """The classes below a method's own whose methods it runs, in order."""
        own = graph.root.owner
        owners = {function.owner: None for function in _in_order(graph.functions)} if own is not None else {}
        return [made for made in owners if made not in (None, own) and own in self.evaluator.linearised(made)]

    def _next_step(self, root: Function, reach: Reach, hits: list[Hit]) -> Iterator[Hit]:
        """What only the next call of a step shows, where nothing in sight says what happens between two."""
        known = {(hit.rule, hit.place) for hit in hits}
        try:
            again = Walk(Lowering(root, self.roles, reach).lower(again=True)).run()
        except (TooLargeError, TooManyStatesError):
            return
        for hit in again:
            if hit.rule in _ACROSS_STEPS and (hit.rule, hit.place) not in known:
                yield replace(hit, certain=False)

    def _once_edited(self) -> Iterator[Hit]:
        """What runs do once somebody edits a switch that a file sets, `USE_AMP = False`, where none comes as it is."""
        if not self._led_past:
            return
        evaluator = Evaluator(self.program, self.modules, settings_hold=False)
        roles = Roles(evaluator)
        reach = Reach(roles)
        for root in self._led_past:
            try:
                hits = Walk(Lowering(root, roles, reach).lower()).run()
            except (TooLargeError, TooManyStatesError):
                continue
            for hit in hits:
                if not self._come_to.issuperset(_spot(place) for place, _ in hit.path):
                    yield replace(hit, certain=False)
        evaluator.forget()

    def _not_walked(self, root: Function, how: str) -> None:
        place = Place(root, root.node)
        reason = f"{root.symbol or 'the module'} {how}"
        self.not_followed.append(NotFollowed(path=place.path, line=place.line, reason=reason))

    def _left_over(self, reach: Reach, walked: set[Function], seen: set[Function]) -> list[Function]:
        """Functions with events that no root led to: calls that could not be followed, cycles, overridden methods.

        A method is first led to by what the objects of its own class begin with.
        """
        left = [function for function in reach.candidates(self.modules) if function not in walked | seen]
        first = [each for each in reach.outermost(left) if each not in seen]
        seen.update(first or left)
        return first or left

    def parsed(self) -> list[Module]:
        return self.program.parsed


_Spot = tuple[str, int, int]
"""Path, line, column."""


def _spot(place: Place) -> _Spot:
    return place.path, place.line, place.column


_ACROSS_STEPS = frozenset({"AMP202", "AMP203", "AMP209", "AMP210", "AMP214"})
"""What a step may leave for the next one. Gradients may be zeroed between the two by what calls it."""


def _is_one_step(graph: Graph) -> bool:
    """Whether a function that nothing in sight calls trains by one step: something calls it for each."""
    events = [node.payload.event for node in graph.nodes if isinstance(node.payload, Signal) and not node.loops]
    backwards = any(isinstance(node.payload, Backward) and node.payload.scaled for node in graph.nodes)
    return bool(graph.root.symbol) and backwards and Event.SCALER_STEP in events and Event.ZERO_GRAD in events


def _in_order(functions: set[Function]) -> list[Function]:
    return sorted(functions, key=lambda function: (function.module.path, function.symbol))
