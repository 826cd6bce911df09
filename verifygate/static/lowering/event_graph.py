"""The event graph of one function with everything it calls inlined: what AMP does, in which order, under what."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from enum import StrEnum
from typing import Generic, TypeVar

from verifygate.base.fixpoint import fixpoint
from verifygate.base.records import field, record
from verifygate.protocol import Event
from verifygate.static.amp.gradient_flow import GradientFlow
from verifygate.static.amp.parameter_sets import ParameterSet
from verifygate.static.amp.roles import ScalerOrigin
from verifygate.static.conditions.predicates import Fact, Predicate
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.traversal import walk
from verifygate.static.uses.roles import Evidence
from verifygate.static.values.access_paths import AccessPath

T = TypeVar("T")


class Deferred(Generic[T]):
    """A fact that is worked out when it is first asked for: few ever are."""

    __slots__ = ("_find", "_found")

    def __init__(self, find: Callable[[], T]) -> None:
        self._find: Callable[[], T] | None = find

    @property
    def value(self) -> T:
        if self._find is not None:
            self._found = self._find()
            self._find = None
        return self._found


_NO_SET: Deferred[ParameterSet | None] = Deferred(lambda: None)
_NO_FLOW: Deferred[GradientFlow | None] = Deferred(lambda: None)


@record
class Signal:
    """An event of the protocol."""

    event: Event
    scaler: AccessPath | None = None
    optimizer: AccessPath | None = None
    """None where it may be any optimizer."""
    names: frozenset[str] = frozenset()
    """What a clip is over: names that suggest whose gradients they are."""
    sets_scale: bool = False
    """An update that is passed the new scale: it needs no inf check."""
    origin: ScalerOrigin | None = None
    """Identifies the scaler that unscales or steps, where that is known."""
    is_any: bool = False
    """That scaler may be one of several, which other names may mean as well."""
    parameters: Deferred[ParameterSet | None] = field(default=_NO_SET, compare=False)
    """Whose gradients it is about, where it names no optimizer."""
    evidence: Evidence = Evidence.OBJECT
    """What says that what it is called on is a scaler, or an optimizer."""


@record
class Backward:
    """A backward; whether it is scaled depends on the path."""

    roots: frozenset[AccessPath]
    """The variables in the expression it is called on."""
    scaled: bool = False
    """The expression itself calls `scale`."""
    idle: bool = False
    """The scaler that scales it is off on this path."""
    origin: ScalerOrigin | None = None
    """Identifies that scaler, where that is known."""
    flow: Deferred[GradientFlow | None] = field(default=_NO_FLOW, compare=False)
    """Whose parameters it reaches."""
    evidence: Evidence = Evidence.OBJECT
    """What says that what scales it is a scaler."""


@record
class ForeignBackward:
    """A backward that another library scales, as `accelerator.backward(loss)`: only where it runs is our business."""


@record
class Escape:
    """A call that is not followed is given a scaler, or may run what was handed over: what it does is not known."""


@record
class Enter:
    active: bool
    caches: bool = True
    """Casts of weights are kept until the outermost region is left."""


@record
class Leave:
    pass


@record
class Branch:
    atom: Predicate
    is_loop_test: bool = False
    """It is the test of a `while`."""
    is_dispatch: bool = False
    """It tells which of several functions a call runs, and nothing in the source says on what that depends."""


class Sources:
    """Access paths of the variables that a value is made of, evaluated on demand: few ever are."""

    __slots__ = ("_find", "_found")

    def __init__(self, find: Callable[[], frozenset[AccessPath]] = frozenset) -> None:
        self._find: Callable[[], frozenset[AccessPath]] = find
        self._found: frozenset[AccessPath] | None = None

    @property
    def paths(self) -> frozenset[AccessPath]:
        if self._found is None:
            self._found = self._find()
        return self._found


@record
class Assign:
    """Assign a value to a variable: kills the facts about it, and may generate one."""

    target: AccessPath
    sources: Sources = field(default_factory=Sources)
    scaled: bool = False
    truth: bool | None = None
    in_loop: bool = False
    augments: bool = False
    """An augmented assignment, or an element that is stored: the old value is part of the new one."""
    advances: bool = False
    """A counter goes to its next value, in a loop or by `i += 1`."""
    origin: ScalerOrigin | None = None
    """Identifies the scaler of a scaled value, where that is known."""


class IterationPart(StrEnum):
    """Where in a loop over a collection."""

    ENTER = "enter"
    ENTER_WITHOUT = "enter, and the tracked element is not among those iterated over"
    TRACKED = "an iteration over the tracked element"
    OTHER = "an iteration over another element"
    LEAVE = "leave"


@record
class Iterate:
    """Iterate over a collection of objects that share one access path."""

    target: AccessPath
    part: IterationPart


@record
class Pass:
    """A join: the head of a loop, or the entry."""


Payload = Signal | Backward | ForeignBackward | Escape | Enter | Leave | Branch | Assign | Iterate | Pass


@record(eq=False, frozen=False)
class Node:
    payload: Payload
    place: Location
    active: frozenset[str]
    """`path:symbol` of the function and of its callers: whose local variables are live here."""
    successors: list[tuple[int, Fact | None]] = field(default_factory=list)
    loops: tuple[int, ...] = ()
    """Numbers of the loops around it, through calls, outermost first."""
    collections: tuple[AccessPath, ...] = ()
    """The collections of optimizers that loops around it iterate over."""
    calls: tuple[Location, ...] = ()
    """The call sites that lead to its function, from the entry point's own on."""


@record(eq=False, frozen=False)
class Graph:
    """Nodes by number; node 0 is the entry."""

    root: Function
    nodes: list[Node] = field(default_factory=list)
    optimizers: dict[AccessPath, frozenset[str]] = field(default_factory=dict)
    """Optimizer -> names of the modules whose parameters it holds."""
    parameters: dict[AccessPath, ParameterSet | None] = field(default_factory=dict)
    """Optimizer -> the parameters that it updates, where the source tells."""
    scalers: set[AccessPath] = field(default_factory=set)
    presumed: set[AccessPath] = field(default_factory=set)
    """Elements of containers whose keys are computed: that no two iterations share one is an assumption."""
    renamed: set[int] = field(default_factory=set)
    """Nodes whose event is about an optimizer that goes by another name there: that it is one is an assumption."""
    taken_for_one: Mapping[Predicate, frozenset[Predicate]] | None = None
    """Conditions that may ask one question (`paths/equivalent_conditions.py`); None until somebody wants to know."""
    functions: set[Function] = field(default_factory=set)
    """Every function that is part of it."""
    freezes: bool = False
    """Some parameters are frozen for a while, so that a loss may go through them and leave nothing there."""

    def optimizers_in_scope(self) -> dict[int, list[AccessPath]]:
        """Resolve which optimizers each node with an event may be about.

        Not those that are local to a function that is not active there.
        """
        homes = {function.key for function in self.functions}
        optimizers = sorted(self.optimizers, key=str)
        found = {}
        for number, node in enumerate(self.nodes):
            if not isinstance(node.payload, Signal | Backward):
                continue
            names = [each for each in optimizers if each.root.home in node.active or each.root.home not in homes]
            for element in node.collections:  # here the collection is represented by the element of the iteration
                names = [each for each in names if each == element or not each.is_below(element.collection)]
            found[number] = names
        return found

    def is_local(self, path: AccessPath) -> bool:
        """Whether a path begins at a local variable of a function that is part of it."""
        return any(path.root.home == function.key for function in self.functions)

    def never_zeroed(self) -> Set[AccessPath]:
        """The optimizers that no zero_grad can be about; none where one may be about any."""
        zeroed: set[AccessPath] = set()
        for node in self.nodes:
            if isinstance(signal := node.payload, Signal) and signal.event is Event.ZERO_GRAD:
                holding = {name for name, modules in self.optimizers.items() if self._may_hold(modules, signal.names)}
                zeroed |= {signal.optimizer} if signal.optimizer is not None else holding
                if signal.optimizer is None and not holding:
                    return set()
        if not zeroed <= self.optimizers.keys() or any(each.is_summary for each in zeroed):
            return set()
        related = ((each, other) for each in self.optimizers for other in zeroed)
        return self.optimizers.keys() - {
            each for each, other in related if each.is_below(other) or other.is_below(each)
        }

    def _may_hold(self, modules: frozenset[str], names: frozenset[str]) -> bool:
        """Whether modules are among those of some names, or bound to a part of them: `head = model.head`."""
        bound = (each for function in self.functions for name in modules for each in function.scope.names.get(name, ()))
        parts = (node for each in bound if each.expr is not None for node in walk(each.expr))
        return bool(modules & names) or any(isinstance(node, ast.Name) and node.id in names for node in parts)

    def prune(self) -> None:
        """Remove dead nodes: assignments on which nothing depends, and conditions on which nothing does.

        An assignment counts where a condition reads it or a scaled loss flows through it; a condition where its
        branches differ. Removing one of them may leave others without a use.
        """
        flows = self._flows()
        dead: set[int] = set()
        edges_of = self._live_edges(dead)
        while more := set(self._dead(edges_of, flows)):
            dead |= more
            edges_of = self._live_edges(dead)
        for number, node in enumerate(self.nodes):
            node.successors = edges_of.get(number, [])

    def _dead(self, edges_of: dict[int, list[tuple[int, Fact | None]]], flows: Set[AccessPath]) -> Iterator[int]:
        """The dead nodes among those that are left."""
        tested = {
            number: node.payload.atom for number in edges_of if isinstance((node := self.nodes[number]).payload, Branch)
        }
        read = (path for atom in tested.values() for path in atom.mentions)
        used = {holder for path in (*self.optimizers, *self.scalers, *read) for holder in path.holders()}
        for number, edges in edges_of.items():
            payload = self.nodes[number].payload
            if number in tested:
                changes = len(edges) < 2 or len({end for end, _ in edges}) > 1
            elif isinstance(payload, Assign | Iterate):
                changes = not number or payload.target in flows or payload.target in used
            else:
                changes = True
            if not changes:
                yield number

    def _flows(self) -> Set[AccessPath]:
        """Taint: the variables through which a scaled loss may flow to a backward."""
        assigns = [node.payload for node in self.nodes if isinstance(node.payload, Assign)]
        if not any(assign.scaled for assign in assigns):
            return set()
        roots = {root for node in self.nodes if isinstance(node.payload, Backward) for root in node.payload.roots}
        return flowing_into(roots, assigns)

    def _live_edges(self, dead: set[int]) -> dict[int, list[tuple[int, Fact | None]]]:
        """The reachable nodes, each with its edges, bypassing dead nodes."""
        found: dict[int, list[tuple[int, Fact | None]]] = {}
        ahead = [0]
        while ahead:
            number = ahead.pop()
            if number not in found:
                edges = (edge for each in self.nodes[number].successors for edge in self._bypassed(each, dead))
                found[number] = list(dict.fromkeys(edges))
                ahead += [successor for successor, _ in found[number]]
        return found

    def _bypassed(self, edge: tuple[int, Fact | None], dead: set[int]) -> list[tuple[int, Fact | None]]:
        """The edge, or those that bypass a dead node: before a `try` such a node leads to its body and its handlers."""
        if edge[0] not in dead:
            return [edge]
        found: list[tuple[int, Fact | None]] = []
        ahead, seen = [edge[0]], {edge[0]}
        while ahead:
            number = ahead.pop()
            if number not in dead:
                found.append((number, edge[1]))
                continue
            onward = [successor for successor, _ in self.nodes[number].successors if successor not in seen]
            seen.update(onward)
            ahead += reversed(onward)
        return found

    def loop_variables(self) -> set[AccessPath]:
        """The variables of loops: another value in each iteration."""
        assigns = (node.payload for node in self.nodes if isinstance(node.payload, Assign))
        return {assign.target for assign in assigns if assign.advances and not assign.augments}

    def assigned_in_loops(self) -> set[AccessPath]:
        """What is assigned inside a loop: a condition on one of them may change between iterations.

        So may one on what may be the same by another name.
        """
        assigns = [node.payload for node in self.nodes if isinstance(node.payload, Assign)]
        found = {assign.target for assign in assigns if assign.in_loop}
        branches = [node.payload for node in self.nodes if isinstance(node.payload, Branch)]
        asked = {path for branch in branches for path in branch.atom.mentions}
        return found | {path for path in asked if any(path.may_be(target) for target in found)}


def flowing_into(paths: Iterable[AccessPath], assigns: Iterable[Assign]) -> Set[AccessPath]:
    """Close variables under assignment: these, and all whose values flow into them."""
    by_target: dict[AccessPath, list[Assign]] = {}
    for assign in assigns:
        by_target.setdefault(assign.target, []).append(assign)
    return fixpoint(paths, lambda path: (source for each in by_target.get(path, ()) for source in each.sources.paths))
