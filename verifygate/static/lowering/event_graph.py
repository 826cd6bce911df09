"""The event graph of one function with everything it calls inlined: what AMP does, in which order, under what."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Set
from enum import StrEnum

from verifygate.base.fixpoint import fixpoint
from verifygate.base.records import field, record
from verifygate.protocol import Event
from verifygate.static.conditions.predicates import Atom, Fact, is_below
from verifygate.static.symbols.location import Place
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.traversal import walk


@record
class Signal:
    """An event of the protocol."""

    event: Event
    scaler: str = ""
    optimizer: str = ""
    """Canonical path; empty where it may be any optimizer."""
    names: frozenset[str] = frozenset()
    """What a clip is over: names that may tell whose gradients they are."""
    told: bool = False
    """An update that is given the new scale: it asks for no inf check."""
    which: str = ""
    """Tells the scaler that unscales or steps from others; empty where that cannot be told."""
    is_any: bool = False
    """That scaler may be one of several, which other names may mean as well."""


@record
class Backward:
    """A backward; whether it is scaled shows when it is walked."""

    roots: frozenset[str]
    """Canonical paths of the variables in the expression it is called on."""
    scaled: bool = False
    """The expression itself calls `scale`."""
    idle: bool = False
    """The scaler that scales it is off on this path."""
    which: str = ""
    """Tells that scaler from others; empty where that cannot be told."""


@record
class ForeignBackward:
    """A backward that another library scales, as `accelerator.backward(loss)`: only where it runs is our business."""


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
    atom: Atom
    turns: bool = False
    """It asks a `while` whether to go on."""


class Sources:
    """Canonical paths of the variables that a value is made of, found when they are asked for: few ever are."""

    __slots__ = ("_find", "_found")

    def __init__(self, find: Callable[[], frozenset[str]] = frozenset) -> None:
        self._find: Callable[[], frozenset[str]] = find
        self._found: frozenset[str] | None = None

    @property
    def paths(self) -> frozenset[str]:
        if self._found is None:
            self._found = self._find()
        return self._found


@record
class Assign:
    """A variable gets a value: what was known about it ends, and what is now known begins."""

    target: str
    sources: Sources = field(default_factory=Sources)
    scaled: bool = False
    truth: bool | None = None
    in_loop: bool = False
    keeps: bool = False
    """An augmented assignment: the old value is part of the new one."""
    counts: bool = False
    """A counter goes to its next value, in a loop or by `i += 1`."""
    which: str = ""
    """Tells the scaler of a scaled value from others; empty where that cannot be told."""


class Part(StrEnum):
    """Parts of a walk over a collection."""

    ENTER = "enter"
    LEFT_OUT = "enter, and the member that is watched is not among those that have a turn"
    OWN = "the turn of the member that is watched"
    OTHER = "the turn of another member"
    LEAVE = "leave"


@record
class Member:
    """A loop goes over a collection of objects that share one canonical path."""

    target: str
    part: Part


@record
class Pass:
    """A join: the head of a loop, or the entry."""


Payload = Signal | Backward | ForeignBackward | Enter | Leave | Branch | Assign | Member | Pass


@record(eq=False, frozen=False)
class Node:
    payload: Payload
    place: Place
    homes: frozenset[str]
    """`path:symbol` of the function and of its callers: whose local variables are alive here."""
    successors: list[tuple[int, Fact | None]] = field(default_factory=list)
    loops: tuple[int, ...] = ()
    """The loops around it, through calls, outermost first, by number."""
    members: tuple[str, ...] = ()
    """The collections of optimizers that loops around it go over."""
    calls: tuple[Place, ...] = ()
    """The calls that lead to its function, from the root's own on."""


@record(eq=False)
class Graph:
    """Nodes by number; node 0 is the entry."""

    root: Function
    nodes: list[Node] = field(default_factory=list)
    optimizers: dict[str, frozenset[str]] = field(default_factory=dict)
    """Canonical path -> names of the modules whose parameters it holds."""
    scalers: set[str] = field(default_factory=set)
    functions: set[Function] = field(default_factory=set)
    """Every function that is part of it."""

    def alive(self) -> dict[int, list[str]]:
        """For each node with an event, the optimizers that can be meant there.

        Not those that are local to a function not being run there.
        """
        symbols = {f"{function.module.path}:{function.symbol}" for function in self.functions}
        homes = [(name, name.rpartition(":")[0]) for name in sorted(self.optimizers)]
        found = {}
        for number, node in enumerate(self.nodes):
            if not isinstance(node.payload, Signal | Backward):
                continue
            names = [name for name, home in homes if home in node.homes or home not in symbols]
            for member in node.members:  # here the collection goes by its member, whose turn it is
                names = [name for name in names if name == member or not is_below(name, member.removesuffix("[*]"))]
            found[number] = names
        return found

    def runs(self, path: str) -> bool:
        """Whether a path is that of a local variable of a function that is part of it."""
        home = path.rpartition(":")[0]
        return any(home == f"{function.module.path}:{function.symbol}" for function in self.functions)

    def never_zeroed(self) -> set[str]:
        """The optimizers that no statement can be zeroing: none where it is not known which ones the zeroed are."""
        zeroed: set[str] = set()
        for node in self.nodes:
            if isinstance(signal := node.payload, Signal) and signal.event is Event.ZERO_GRAD:
                holding = {name for name, modules in self.optimizers.items() if self._may_hold(modules, signal.names)}
                zeroed |= {signal.optimizer} if signal.optimizer else holding or {""}
        if not zeroed <= self.optimizers.keys() or any("[*]" in name for name in zeroed):
            return set()
        related = ((name, other) for name in self.optimizers for other in zeroed)
        return self.optimizers.keys() - {
            name for name, other in related if is_below(name, other) or is_below(other, name)
        }

    def _may_hold(self, modules: frozenset[str], names: frozenset[str]) -> bool:
        """Whether modules are among those of some names, or bound to a part of them: `head = model.head`."""
        bound = (each for function in self.functions for name in modules for each in function.scope.names.get(name, ()))
        parts = (node for each in bound if each.expr is not None for node in walk(each.expr))
        return bool(modules & names) or any(isinstance(node, ast.Name) and node.id in names for node in parts)

    def prune(self) -> None:
        """Take out what can change nothing: assignments of which nothing depends, conditions on which nothing does.

        An assignment counts where a condition reads it or a scaled loss flows through it; a condition where its ways
        differ. Taking one of them out may leave others without a use.
        """
        flows = self._flows()
        idle: set[int] = set()
        ways = self._led_past(idle)
        while more := set(self._idle(ways, flows)):
            idle |= more
            ways = self._led_past(idle)
        for number, node in enumerate(self.nodes):
            node.successors = ways.get(number, [])

    def _idle(self, ways: dict[int, list[tuple[int, Fact | None]]], flows: Set[str]) -> Iterator[int]:
        """Nodes that change nothing, of those that are left."""
        asked = {
            number: node.payload.atom for number in ways if isinstance((node := self.nodes[number]).payload, Branch)
        }
        read = (path for atom in asked.values() for path in atom.mentions)
        used = _with_holders({*self.optimizers, *self.scalers, *read})
        for number, edges in ways.items():
            payload = self.nodes[number].payload
            if number in asked:
                changes = len(edges) < 2 or len({end for end, _ in edges}) > 1
            elif isinstance(payload, Assign | Member):
                changes = not number or payload.target in flows or payload.target in used
            else:
                changes = True
            if not changes:
                yield number

    def _flows(self) -> Set[str]:
        """Canonical paths of the variables through which a scaled loss may flow to a backward."""
        assigns = [node.payload for node in self.nodes if isinstance(node.payload, Assign)]
        if not any(assign.scaled for assign in assigns):
            return set()
        roots = {root for node in self.nodes if isinstance(node.payload, Backward) for root in node.payload.roots}
        return flowing_into(roots, assigns)

    def _led_past(self, idle: set[int]) -> dict[int, list[tuple[int, Fact | None]]]:
        """The nodes that a run can get to, each with its edges, led past nodes that are out."""
        found: dict[int, list[tuple[int, Fact | None]]] = {}
        ahead = [0]
        while ahead:
            number = ahead.pop()
            if number not in found:
                edges = (edge for each in self.nodes[number].successors for edge in self._past(each, idle))
                found[number] = list(dict.fromkeys(edges))
                ahead += [successor for successor, _ in found[number]]
        return found

    def _past(self, edge: tuple[int, Fact | None], idle: set[int]) -> list[tuple[int, Fact | None]]:
        """The edge, led past nodes that are out: into a `try`, one of those leads to its body and to its handlers."""
        if edge[0] not in idle:
            return [edge]
        found: list[tuple[int, Fact | None]] = []
        ahead, seen = [edge[0]], {edge[0]}
        while ahead:
            number = ahead.pop()
            if number not in idle:
                found.append((number, edge[1]))
                continue
            onward = [successor for successor, _ in self.nodes[number].successors if successor not in seen]
            seen.update(onward)
            ahead += reversed(onward)
        return found

    def drawn(self) -> set[str]:
        """Canonical paths of the variables of loops: something else in each turn."""
        assigns = (node.payload for node in self.nodes if isinstance(node.payload, Assign))
        return {assign.target for assign in assigns if assign.counts and not assign.keeps}

    def volatile(self) -> set[str]:
        """Canonical paths assigned inside a loop: a condition on one of them may change from turn to turn."""
        return {node.payload.target for node in self.nodes if isinstance(node.payload, Assign) and node.payload.in_loop}


def flowing_into(paths: Iterable[str], assigns: Iterable[Assign]) -> Set[str]:
    """Close variables under assignment: their canonical paths, and those of all whose values flow into them."""
    by_target: dict[str, list[Assign]] = {}
    for assign in assigns:
        by_target.setdefault(assign.target, []).append(assign)
    return fixpoint(paths, lambda path: (source for each in by_target.get(path, ()) for source in each.sources.paths))


def _with_holders(paths: set[str]) -> set[str]:
    """The paths, and every path that one of them is below."""
    return paths | {path[:end] for path in paths for end, letter in enumerate(path) if letter in ".["}
