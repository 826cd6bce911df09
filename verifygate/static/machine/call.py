"""What a library's model sees of the machine: `Call`, one call of something that the project does not define.

A handler is a function of a `Call` that gives the result. It reads arguments, reads and writes fields of objects,
opens regions, calls what it was given, and emits events; it looks at no syntax.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, Protocol

from verifygate.events.record import Kind
from verifygate.static.machine.lattice import atoms
from verifygate.static.machine.observations import Observation
from verifygate.static.machine.store import State
from verifygate.static.machine.truth import Truth
from verifygate.static.machine.values import (
    NONE,
    Address,
    Atom,
    ClassValue,
    Constant,
    Container,
    Decisions,
    Items,
    LibraryName,
    Object,
    Place,
    Region,
    Regions,
    Tuple,
    Unknown,
    Value,
    Wrapped,
)
from verifygate.static.symbols.program import Module
from verifygate.static.uses.roles import Use

PROCESS = Address("process", None)
"""Where the state of the process lies: open regions, grad mode, default dtype, switches."""
REGIONS = "regions"


class Machinery(Protocol):
    """What a handler may ask of the machine."""

    state: State

    @property
    def place(self) -> Place:
        """The line of the project at hand."""

    def new_object(self, cls: ClassValue | LibraryName, site: Hashable, fields: dict[str, Value]) -> Object:
        """Make an object at a site, in the context at hand."""

    def new_container(self, kind: str, site: Hashable, items: Items) -> Container:
        """Make a list, dict or set."""

    def field(self, address: Address, name: str) -> Value | None:
        """A field, as far as the decisions leave it open; None where it is not there."""

    def map_field(self, address: Address, name: str, change: Callable[[Value | None], Value]) -> None:
        """Change a field, for each value that it may have."""

    def items(self, value: Value) -> Items | None:
        """What a container or tuple holds; None where that is not known."""

    def set_items(self, of: Container, items: Items) -> None:
        """Let a container hold other elements."""

    def elements(self, value: Value) -> Items:
        """What iterating over a value gives."""

    def element(self, of: Atom, key: Value, site: Hashable) -> Value:
        """`of[key]`."""

    def set_element(self, of: Atom, key: Value, value: Value, site: Hashable) -> None:
        """`of[key] = value`."""

    def attribute(self, value: Value, name: str, site: Hashable) -> Value:
        """What an attribute of a value is."""

    def set_attribute(self, of: Value, name: str, value: Value, site: Hashable) -> None:
        """`of.name = value`."""

    def inherited(self, cls: ClassValue | LibraryName, name: str, receiver: Value, site: Hashable) -> Value | None:
        """What the class of an object, or one that it derives from, has under a name."""

    def derives(self, value: Atom, names: tuple[str, ...]) -> bool:
        """Whether a value is an object of one of these library classes, or of a class below one."""

    def call(self, function: Value, args: tuple[Value, ...], keywords: dict[str, Value], site: Hashable) -> Value:
        """Call a value."""

    def operate(self, name: str, left: Value, right: Value, site: Hashable) -> Value:
        """`left + right`, and the like; `name` is the class of the operator, as `Add`."""

    def mapped(self, value: Value, change: Callable[[Atom], Value]) -> Value:
        """The same for each value that there may be, where nothing is changed by it."""

    def each_way(self, value: Value, follow: Callable[[Atom], Value]) -> Value:
        """The same where it changes something: each in a state of its own."""

    def truth_of(self, atom: Atom, decisions: Decisions) -> Truth:
        """What a value is as a condition."""

    def emit(self, kind: Kind, attributes: dict[str, Any], seen: Observation | None = None) -> None:
        """Leave an event."""

    def is_older(self, place: Place | None) -> bool:
        """Whether what was made at a place was there before the function at hand ran, or before a loop in it."""

    def used(self, value: Value, use: Use) -> None:
        """Note what is done with an input."""

    def unknown(self, reason: str) -> Unknown:
        """A value that is not known, noted as not followed."""


class Call:
    """One call: of a library's function or class, of a method or an operator of a value, or the read of an attribute.

    `args` holds the positional arguments, `keywords` those by name. `is_open` says that there may be others (`*args`
    or `**options` of which not all is known).
    """

    __slots__ = ("args", "is_open", "keywords", "machine", "name", "place", "receiver", "site")

    def __init__(
        self,
        machine: Machinery,
        name: str,
        site: Hashable,
        args: tuple[Value, ...] = (),
        keywords: dict[str, Value] | None = None,
        receiver: Value = NONE,
    ) -> None:
        self.machine = machine
        self.name = name
        """Canonical name of what is called: `torch.nn.Linear`; of a method its own: `half`."""
        self.site = site
        self.args = args
        self.keywords = keywords if keywords is not None else {}
        self.receiver = receiver
        self.is_open = False
        self.place: Place = machine.place

    @property
    def state(self) -> State:
        """The state at the call."""
        return self.machine.state

    def argument(self, position: int | None, name: str = "") -> Value | None:
        """An argument by position (after the receiver) or by name; None where it is not given."""
        if name in self.keywords:
            return self.keywords[name]
        return self.args[position] if position is not None and position < len(self.args) else None

    def constant(self, position: int | None, name: str = "", default: object = None) -> Any:
        """The same where it is a constant; `default` where it is not given; Unknown where it is not known."""
        value = self.argument(position, name)
        if value is None:
            return Unknown("arguments that are not known", self.place) if self.is_open else default
        return value.value if isinstance(value, Constant) else Unknown("a value that is not known", self.place)

    # -- objects -------------------------------------------------------------------------------------------------

    def new(self, cls: ClassValue | LibraryName | str, part: str = "", **fields: Value) -> Object:
        """Make an object at this site; `part` tells several that one call makes."""
        of = LibraryName(cls) if isinstance(cls, str) else cls
        return self.machine.new_object(of, (self.site, part) if part else self.site, fields)

    def listed(self, values: Iterable[Value], rest: Value | None = None, part: str = "list") -> Container:
        """Make a list of values; `part` tells several that one call makes."""
        given = tuple(values)
        return self.machine.new_container("list", (self.site, part), Items(tuple(range(len(given))), given, rest))

    def get(self, of: Object | Address, name: str) -> Value | None:
        """A field of an object; None where it is not there."""
        return self.machine.field(of.address if isinstance(of, Object) else of, name)

    def set(self, of: Object | Address, name: str, value: Value) -> None:
        self.state.store.write(of.address if isinstance(of, Object) else of, name, value)

    def fields(self, of: Object) -> dict[str, Value]:
        """All fields of an object, in the order in which they were set, without those of its class."""
        names = list(self.state.store.fields(of.address))
        found = ((name, self.get(of, name)) for name in names)
        return {name: value for name, value in found if value is not None}

    def elements(self, value: Value) -> Items:
        """What iterating over a value gives."""
        return self.machine.elements(value)

    def is_a(self, value: Value, *names: str) -> bool:
        """Whether a value is an object of one of these library classes, or of a class that derives from one."""
        return any(self.machine.derives(atom, names) for atom in atoms(value))

    # -- the process ---------------------------------------------------------------------------------------------

    def switch(self, name: str) -> Value | None:
        """A setting of the process: `grad`, `default_dtype`, what a library keeps there; None where it is not set."""
        return self.machine.field(PROCESS, name)

    def set_switch(self, name: str, value: Value) -> None:
        self.state.store.write(PROCESS, name, value)

    @property
    def regions(self) -> tuple[Region, ...] | None:
        """The open regions, outermost first; None where it is not known which."""
        found = self.machine.field(PROCESS, REGIONS)
        return found.stack if isinstance(found, Regions) else () if found is None else None

    def enter(self, region: Region) -> None:
        """Open a region."""
        self.machine.map_field(PROCESS, REGIONS, lambda found: Regions((*_stack(found), region)))

    def leave(self) -> None:
        """Close the innermost region."""
        self.machine.map_field(PROCESS, REGIONS, lambda found: Regions(_stack(found)[:-1]))

    # -- running, telling ----------------------------------------------------------------------------------------

    def call(self, function: Value, args: Iterable[Value] = (), keywords: dict[str, Value] | None = None) -> Value:
        """Call a value: a closure that an optimizer gets, the `forward` of a module."""
        return self.machine.call(function, tuple(args), keywords or {}, (self.site, "call"))

    def call_method(self, of: Value, name: str, args: Iterable[Value] = (), keywords: Any = None) -> Value:
        """Call a method of a value by name."""
        return self.call(self.machine.attribute(of, name, (self.site, "attribute")), args, keywords)

    def wrapped(self, function: Value, manager: Value) -> Value:
        """A function that runs inside a context manager whenever it is called."""
        return Wrapped(function, manager)

    def emit(self, kind: Kind, *, seen: Observation | None = None, **attributes: Any) -> None:
        """Leave an event at this place; region and grad mode are added. `seen` is what rules read besides."""
        self.machine.emit(kind, attributes, seen)

    def unknown(self, reason: str) -> Unknown:
        """A result that is not known, and why; noted as not followed."""
        return self.machine.unknown(reason)


def _stack(found: Value | None) -> tuple[Region, ...]:
    return found.stack if isinstance(found, Regions) else ()


Handler = Callable[[Call], Value]


class Library(Protocol):
    """What is known of code outside of the project. Each answers None for what it does not know."""

    replaced: tuple[str, ...]
    """Names of modules that its models stand for even where the tree has their source."""

    def constant(self, name: str) -> Value | None:
        """What a dotted name is, where it is no function or class: `torch.float16`."""

    def function(self, name: str) -> Handler | None:
        """What calling a dotted name does: a function, or a class that makes an object."""

    def method(self, owner: str, name: str) -> Handler | None:
        """What a method of an object does. `owner` is `torch.Tensor`, or a library class; its bases are asked too."""

    def attribute(self, owner: str, name: str) -> Handler | None:
        """What reading an attribute of such an object gives."""

    def assignment(self, owner: str, name: str) -> Handler | None:
        """What assigning to an attribute does; the value is the one argument."""

    def bases(self, name: str) -> tuple[str, ...]:
        """The library classes that a library class derives from, nearest first."""

    def input(self, what: str) -> Handler | None:
        """What makes an object that comes in from outside: of a class by its name, or of a role (`uses/roles.py`)."""

    def model(self, name: str) -> Module | None:
        """The module that says in Python what a dotted name is: `accelerate.Accelerator`."""


class NoLibrary:
    """A library that knows nothing."""

    replaced: tuple[str, ...] = ()

    def constant(self, name: str) -> Value | None:  # noqa: ARG002
        return None

    def function(self, name: str) -> Handler | None:  # noqa: ARG002
        return None

    def method(self, owner: str, name: str) -> Handler | None:  # noqa: ARG002
        return None

    def attribute(self, owner: str, name: str) -> Handler | None:  # noqa: ARG002
        return None

    def assignment(self, owner: str, name: str) -> Handler | None:  # noqa: ARG002
        return None

    def bases(self, name: str) -> tuple[str, ...]:  # noqa: ARG002
        return ()

    def input(self, what: str) -> Handler | None:  # noqa: ARG002
        return None

    def model(self, name: str) -> Module | None:  # noqa: ARG002
        return None


TENSOR = "torch.Tensor"
"""The owner of the methods of tensors."""


def tuple_of(*values: Value, names: tuple[str, ...] = ()) -> Tuple:
    """A tuple of known values; `names` of a named one."""
    return Tuple(Items(tuple(range(len(values))), values), names)
