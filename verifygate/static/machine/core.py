"""What the machine is at any moment, and what every part of it does: fields, objects, forks, events, unknowns.

The parts are classes, each on top of the one before: `Core`, `Attributes`, `Calls`, `Expressions`, `Statements`,
`Imports`, `Machine`. What a lower one needs of a higher one is named here.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterable
from typing import Any, cast

from verifygate.base.records import field, record
from verifygate.events.record import Dtypes, Frame, Kind
from verifygate.events.record import Region as RegionOfEvent
from verifygate.static.machine.call import PROCESS, REGIONS, Call, Handler, Library, Machinery
from verifygate.static.machine.lattice import atoms, cases, contradict, join, joined, present
from verifygate.static.machine.observations import Accumulated, Observation
from verifygate.static.machine.store import State, Store, join_states
from verifygate.static.machine.trace import Emitted, Events, Trace
from verifygate.static.machine.values import (
    ABSENT,
    NO_REGIONS,
    NONE,
    TRUE,
    Address,
    Atom,
    ClassValue,
    Code,
    Constant,
    Container,
    Context,
    Decisions,
    Items,
    LibraryName,
    Object,
    OneOf,
    Option,
    Place,
    Regions,
    Tensor,
    Tuple,
    Unknown,
    Value,
)
from verifygate.static.symbols.program import Module, Program
from verifygate.static.uses.roles import Use

REST = "**"
"""Among keyword arguments: any others."""
ITEMS = "#items"
"""The field of a container that holds its elements."""
MOST_ITEMS = 64
"""Elements of one container that are kept apart."""


NOT_CUT = 1_000_000
"""More than any depth of calls."""


class EndedError(Exception):
    """The code at hand does not go on from here: it has raised, or left the process."""


class OverBudgetError(Exception):
    """The entry took more steps than it may."""


@record
class Limits:
    """How far the machine goes. All are counts, so that a run ends the same way on every computer."""

    steps: int = 200_000
    """Statements and calls of one entry; past them, calls are not followed and loops run once."""
    depth: int = 40
    """Calls inside each other."""
    rounds: int = 4
    """Rounds of a loop before what still changes is widened."""
    unrolled: int = 8
    """Elements of a collection that a loop takes one by one."""


@record(eq=False, frozen=False)
class Running:
    """One function while it runs, or the body of a module or class."""

    address: Address
    """Where its variables lie."""
    module: Module
    symbol: str
    code: Code | None = None
    outer: Address | None = None
    """The frame of the function around it, or of the module."""
    owner: ClassValue | None = None
    """The class whose method it is."""
    caller: Running | None = None
    line: int = 1
    depth: int = 0
    """How many functions are around it."""
    outside: str = ""
    """The calls that led here, and the rounds of loops around them, in words."""
    first_round: int = 0
    """How many loops are around it."""
    declared: dict[str, Address] = field(default_factory=dict)
    """Name declared global or nonlocal -> the frame where it lives."""
    returns: list[tuple[State, Value]] = field(default_factory=list)
    breaks: list[State] = field(default_factory=list)
    continues: list[State] = field(default_factory=list)
    consumer: Callable[[Value], Value] | None = None
    """What runs at each `yield`."""
    loops: list[tuple[int, int]] = field(default_factory=list)
    """First and last line of the loops around, outermost first."""
    place: Place | None = None
    """Its line, or an earlier one, as a place, once that has been asked for."""


class Core:
    """The state of a run."""

    def __init__(self, program: Program, libraries: Iterable[Library], limits: Limits | None = None) -> None:
        self.program = program
        self.libraries = tuple(libraries)
        self.replaced = tuple(name for library in self.libraries for name in library.replaced)
        """The modules of the tree in whose place a model is executed."""
        self.limits = limits or Limits()
        self.root = Context("entry")
        self.codes: dict[ast.AST, Code] = {}
        """The code of each definition that has run."""
        self.frame: Running
        """The function that runs; there is one as soon as anything does."""
        self.outer: dict[Address, Address | None] = {}
        """Frame -> the one around it."""
        self.keeps = True
        """Whether outcomes of calls are kept."""
        self.kept: dict[Hashable, list[Any]] = {}
        """Function, or path of a module, -> the outcomes of its calls (`memo.py`), of all entries."""
        self._orders: dict[str, tuple[str, ...]] = {}
        self.library_handlers: dict[tuple[str, str, str], Handler | None] = {}
        """What was asked of the libraries."""
        self.made = Events()
        """The events of all entries."""
        self.begin()

    def begin(self) -> None:
        """Start from nothing, as each entry does; outcomes that are kept stay."""
        vars(self).pop("frame", None)
        self.state = State(Store())
        self.state.store.make(PROCESS, {REGIONS: NO_REGIONS, "grad": TRUE})
        self.context = self.root
        self.modules_loaded: dict[str, None] = {}
        self.main = ""
        """The file that runs as a program."""
        self.steps = 0
        self.rounds: tuple[int, ...] = ()
        """The rounds of the loops around, which tell one outcome of a test from the next one."""
        self.partial = 0
        """How many widened loops, handlers and limits the code at hand is in."""
        self.trace = Trace()
        """What the call that is watched has left so far; the entry where none is."""
        self.tests: list[str] = []
        """The tests on data that were given an identity, in order."""
        self.ran: set[Code] = set()
        """The functions that were entered."""
        self.cut = NOT_CUT
        """How deep the outermost of the functions is that were not entered because they run already; 0 for a limit."""
        self.classes = 0
        """Classes that were made."""
        self.replayed = 0
        """Calls that were answered by an earlier one."""
        self.handlers: list[list[State]] = []
        """Of each `try` around, the states in which something may be raised."""
        self.uncaught = 0
        """How often something may have been raised where there was none."""

    # -- what higher parts do ------------------------------------------------------------------------------------

    def eval(self, node: ast.expr) -> Value:
        raise NotImplementedError

    def call(self, function: Value, args: tuple[Value, ...], keywords: dict[str, Value], site: Hashable) -> Value:
        raise NotImplementedError

    def run_block(self, body: list[ast.stmt]) -> bool:
        raise NotImplementedError

    def run_statement(self, node: ast.stmt) -> bool:
        raise NotImplementedError

    def load_module(self, path: str) -> None:
        raise NotImplementedError

    def load_model(self, module: Module) -> None:
        raise NotImplementedError

    # -- places and limits ---------------------------------------------------------------------------------------

    @property
    def place(self) -> Place:
        """Where the machine is: in a library's model, the line of the project that called into it."""
        here = self._inner_frame()
        found = here.place
        if found is None or found.line != here.line:
            found = here.place = Place(here.module.path, here.line)
        return found

    def _inner_frame(self) -> Running:
        """The innermost frame that is the project's own."""
        here = self.frame
        while here.module.is_model and here.caller is not None:
            here = here.caller
        return here

    def site(self, node: ast.AST) -> Hashable:
        """What tells a node of the syntax from all others."""
        return (self.frame.module.path, node.lineno, node.col_offset)  # type: ignore[attr-defined]

    @property
    def is_over_budget(self) -> bool:
        return self.steps > self.limits.steps

    def unknown(self, reason: str) -> Unknown:
        """A value that is not known, noted as not followed."""
        found = Unknown(reason, self.place)
        self.trace.unknowns[found] = None
        return found

    @property
    def events(self) -> tuple[Emitted, ...]:
        """Each event once, in the order in which they came first."""
        return tuple(self.trace.events)

    @property
    def not_followed(self) -> tuple[Unknown, ...]:
        """What was not followed, each once, in order."""
        return tuple(self.trace.unknowns)

    def emit(self, kind: Kind, attributes: dict[str, Any], seen: Observation | None = None) -> None:
        """Leave an event. What a library's model computes and casts for itself is not the project's; averages are."""
        averages = isinstance(seen, Accumulated) and bool(seen.parts)
        if kind in (Kind.OPERATOR, Kind.CAST) and self.frame.module.is_model and not averages:
            return
        found = self.field(PROCESS, REGIONS)
        stack = found.stack if isinstance(found, Regions) else None
        top = next((each for each in reversed(stack or ()) if each.kind == "autocast"), None)
        if "region" not in attributes and top is not None and len(top.dtypes) == 1 and top.enabled is not None:
            attributes["region"] = RegionOfEvent(top.device, next(iter(top.dtypes)), top.enabled)
        if stack is not None and (top is None or top.enabled is not None):
            attributes.setdefault("in_region", top is not None and top.enabled)
        grad = self.field(PROCESS, "grad")
        if isinstance(grad, Constant):
            attributes.setdefault("grad_mode", bool(grad.value))
        here = self._inner_frame()
        event = self.made.event(kind, here.module.path, here.symbol, here.line, attributes)
        is_partial = bool(self.partial) or self.is_over_budget
        self.trace.events[self.made.emitted(event, self.state.decisions, is_partial, seen)] = None

    def is_older(self, place: Place | None) -> bool:
        """Whether what was made at a place was there before the function at hand ran, or before a loop in it."""
        if place is None:
            return False
        code = self.frame.code
        last = getattr(code.node, "end_lineno", 0) if code is not None else self.frame.module.tree.body[-1].end_lineno
        first = code.node.lineno if code is not None else 1
        if place.path != self.frame.module.path or not first <= place.line <= (last or 0):
            return True
        return any(not begin <= place.line <= end for begin, end in self.frame.loops)

    def used(self, value: Value, use: Use) -> None:
        """Note what is done with an input."""
        for atom in atoms(value) if use else ():
            if isinstance(atom, Option):
                self.trace.uses[atom.identity, use] = None

    def frames(self) -> tuple[Frame, ...]:
        """The chain of calls, innermost first; a library's model has no place in it."""
        found: list[Frame] = []
        here: Running | None = self.frame
        while here is not None:
            if not here.module.is_model:
                found.append(Frame(here.module.path, here.symbol, here.line))
            here = here.caller
        return tuple(found)

    def handled(
        self,
        handler: Handler,
        name: str,
        site: Hashable,
        args: tuple[Value, ...] = (),
        keywords: dict[str, Value] | None = None,
        receiver: Value = NONE,
    ) -> Value:
        """What a library's handler makes of a call."""
        call = Call(cast(Machinery, self), name, site, args, dict(keywords) if keywords else {}, receiver)
        if keywords:
            call.is_open = call.keywords.pop(REST, None) is not None
        return handler(call)

    # -- fields and objects --------------------------------------------------------------------------------------

    def field(self, address: Address, name: str) -> Value | None:
        """A field, as far as the decisions leave it open; None where it is not there."""
        value = self.state.store.read(address, name)
        if value.__class__ is OneOf:
            value = self.state.left_of(value)
            if value.__class__ is OneOf:
                value = present(value)
        return None if value is ABSENT else value

    def map_field(self, address: Address, name: str, change: Callable[[Value | None], Value]) -> None:
        """Change a field, for each value that it may have."""
        value = self.state.read(address, name)
        changed = [(change(None if atom is ABSENT else atom), when) for atom, when in cases(value)]
        result = changed[0][0] if len(changed) == 1 else self.of_cases(changed)
        self.state.store.write(address, name, result)

    def of_cases(self, found: Iterable[tuple[Value, Decisions]]) -> Value:
        """One value for several that come about under decisions."""
        result: Value | None = None
        before: Decisions = frozenset()
        for value, when in found:
            if result is None:
                result, before = value, when
            else:
                result, before = join(result, value, before, when), frozenset()
        return ABSENT if result is None else result

    def new_object(self, cls: ClassValue | LibraryName, site: Hashable, fields: dict[str, Value]) -> Object:
        """Make an object at a site, in the context at hand."""
        address = Address(site, self.context, self.place)
        self.state.store.make(address, fields)
        return Object(address, cls)

    def new_container(self, kind: str, site: Hashable, items: Items) -> Container:
        """Make a list, dict or set. Where the site made one before, what that holds may be this one's as well."""
        address = Address((kind, site), self.context, self.place)
        self.state.store.replace(address, {ITEMS: _bounded(items)})
        return Container(address, kind)

    def items(self, value: Value) -> Items | None:
        """What a container or tuple holds; None where that is not known."""
        if isinstance(value, Tuple):
            return value.items
        if isinstance(value, Container):
            found = self.field(value.address, ITEMS)
            if isinstance(found, OneOf):
                found = joined(atom for atom in atoms(found) if isinstance(atom, Items))
            return found if isinstance(found, Items) else None
        return None

    def set_items(self, of: Container, items: Items) -> None:
        self.state.store.write(of.address, ITEMS, _bounded(items))

    def elements(self, value: Value) -> Items:
        """What iterating over a value gives, by position as far as that is known."""
        raise NotImplementedError

    def derives(self, value: Atom, names: tuple[str, ...]) -> bool:
        """Whether a value is an object of one of these library classes, or of a class below one."""
        cls = getattr(value, "cls", None)
        if isinstance(cls, LibraryName):
            return any(each in names for each in self.library_order(cls.name))
        if isinstance(cls, ClassValue):
            return any(each in names for base in cls.library_bases for each in self.library_order(base))
        return False

    def library_order(self, name: str) -> tuple[str, ...]:
        """A library class and all that it derives from, nearest first."""
        known = self._orders.get(name)
        if known is None:
            found = {name: None}
            for each in (base for library in self.libraries for base in library.bases(name)):
                found |= dict.fromkeys(self.library_order(each))
            known = self._orders[name] = tuple(found)
        return known

    # -- several ways --------------------------------------------------------------------------------------------

    def each_way(self, value: Value, follow: Callable[[Atom], Value]) -> Value:
        """Follow each value that there may be in a state of its own, then join states and results."""
        if not isinstance(value, OneOf):
            return follow(value)
        start = self.state
        ends: list[tuple[State, Value]] = []
        for atom, when in value.cases:
            start.ask(when)
            if contradict(when, start.decisions):
                continue
            self.state = start.fork()
            self.state.decisions |= when
            try:
                result = follow(atom)
            except EndedError:
                continue
            ends.append((self.state, result))
        return self.join_ends(ends)

    def go_on(self, states: list[State]) -> bool:
        """Go on from the join of these states, if there are any."""
        found = join_states(states)
        if found is not None:
            self.state = found
        return found is not None

    def join_ends(self, ends: list[tuple[State, Value]]) -> Value:
        """Go on from all of these states with one value. Raises EndedError where there is none."""
        if not ends:
            raise EndedError
        state, value = ends[0]
        for other, result in ends[1:]:
            common, mine, theirs = state.parting(other)
            value = join(value, result, mine, theirs)
            state = State(state.store.joined(other.store, mine, theirs), common)
        self.state = state
        return state.left_of(value) if len(ends) > 1 else value


def _bounded(items: Items) -> Items:
    if len(items.keys) <= MOST_ITEMS:
        return items
    return Items((), (), joined(items.all))


def dtypes_of(value: Value) -> Dtypes:
    """The dtypes that a value's tensors may have; none where that is not known."""
    found = [atom.dtypes if isinstance(atom, Tensor) else frozenset[str]() for atom in atoms(value)]
    return frozenset[str]().union(*found) if all(found) else frozenset()
