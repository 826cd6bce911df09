"""The values of the machine: what a variable, a field or an element may hold, as far as it is known.

A value is one atom, or a few of them (`OneOf`), each with the decisions under which it is the one. Values are never
changed; what can be changed lies in the store, under the address that an `Object` or a `Container` names.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable
from functools import cached_property, lru_cache
from typing import NamedTuple, TypeAlias

from verifygate.base.records import field, record
from verifygate.static.symbols.program import Class, Module
from verifygate.static.syntax.traversal import children

NO_LINE = 0
"""The line of what calls a function that nobody calls, and hands its arguments over."""


class Place(NamedTuple):
    """A line of the project's own code."""

    path: str
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


class Decision(NamedTuple):
    """The outcome of a test on an input that stays as it is: `args.fp16` is true."""

    test: str
    holds: bool

    def __str__(self) -> str:
        return self.test if self.holds else f"not ({self.test})"


Decisions: TypeAlias = frozenset[Decision]
NO_DECISIONS: Decisions = frozenset()


@record(eq=False)
class Context:
    """A chain of calls: the sites through which the code at hand is reached. There is one object for each chain."""

    site: Hashable = ""
    caller: Context | None = None
    depth: int = 0
    below: dict[Hashable, Context] = field(default_factory=dict)
    addresses: dict[tuple[Hashable, Place | None], Address] = field(default_factory=dict)
    """Of what is made here."""

    def child(self, site: Hashable) -> Context:
        found = self.below.get(site)
        if found is None:
            found = self.below[site] = Context(site, self, self.depth + 1)
        return found


class Address:
    """Where the fields of an object lie: its allocation site, in a context. A site in a loop has one for all rounds.

    There is one object for each address, so that two are compared, and looked up, by what they are alone.
    """

    __slots__ = ("context", "place", "site")
    site: Hashable
    context: Context | None
    place: Place | None

    def __new__(cls, site: Hashable, context: Context | None, place: Place | None = None) -> Address:
        known = _FIXED if context is None else context.addresses
        found = known.get((site, place))
        if found is None:
            found = known[(site, place)] = super().__new__(cls)
            found.site, found.context, found.place = site, context, place
        return found

    def __repr__(self) -> str:
        return f"Address({self.site!r}, {self.place})"


_FIXED: dict[tuple[Hashable, Place | None], Address] = {}
"""The addresses that are the same in each run."""


@record
class Constant:
    """A number, text, truth value or None that is known."""

    value: object
    kind: type = type(None)
    """`True`, `1` and `1.0` are equal in Python, and three values here."""


@lru_cache(maxsize=20_000, typed=True)
def constant(value: Hashable) -> Constant:
    """The constant of a value; the same object where it was made before."""
    return Constant(value, value.__class__)


@record
class Option:
    """An input that is not known and stays as it is: an argument of the command line, a field of a configuration."""

    identity: str
    """What a reader calls it: `args.fp16`."""
    default: Constant | None = None
    choices: tuple[Constant, ...] = ()
    place: Place | None = field(default=None, compare=False)
    is_parameter: bool = field(default=False, compare=False)
    """It is an argument of a function that nobody calls, or comes out of one."""

    def part(self, identity: str, default: Constant | None = None) -> Option:
        """What comes out of it: an attribute, an element, a comparison."""
        return Option(identity, default, place=self.place, is_parameter=self.is_parameter)


@record
class Condition:
    """A truth value of which the test is known, and not the outcome."""

    test: str
    negated: bool = False
    default: bool | None = None
    """The outcome where every option has its default."""


@record
class Tensor:
    """A tensor."""

    dtypes: frozenset[str] = frozenset()
    """The dtypes that it may have, as `float16`; none where that is not known."""
    device: str = ""
    graph: bool | None = None
    """Whether autograd can go back from it; None where that is not known."""
    parameters: frozenset[Part] = frozenset()
    """The parameters that it is, where `is_parameter`; else those that it was computed from."""
    is_parameter: bool = False
    scaled_by: frozenset[Address] = frozenset()
    """The scalers that it is multiplied by the scale of."""
    rounded: frozenset[str] = frozenset()
    """The dtypes that its values went through before."""
    is_loss: bool = False
    known: object = None
    """Its value, where that is a number that the program states."""
    place: Place | None = field(default=None, compare=False)
    """Where it got its dtype."""
    reason: str = field(default="", compare=False)
    """Why the dtype is not known."""
    count: int | None = None
    """How many numbers it holds, where the program states it."""
    largest: float | None = None
    """Where it holds whole numbers that count something, the largest; infinite where that is not known."""


@record
class Part:
    """The parameters of one module that a condition picks; all of them where there is none."""

    module: Address
    condition: str = ""


@record
class Object:
    """An object with fields, of a class of the project or of a library."""

    address: Address
    cls: ClassValue | LibraryName


@record
class Container:
    """A list, dict or set. Its elements lie in the store."""

    address: Address
    kind: str


@record
class Items:
    """What a container holds: values by key or index as far as they are known, and a rest."""

    keys: tuple[Hashable, ...] = ()
    values: tuple[Value, ...] = ()
    rest: Value | None = None
    """What any element beyond those may be; None where there are no more."""

    @property
    def all(self) -> tuple[Value, ...]:
        return self.values if self.rest is None else (*self.values, self.rest)

    def get(self, key: Hashable) -> Value | None:
        """What a key that is known leads to."""
        return self.values[self.keys.index(key)] if key in self.keys else None


@record
class Tuple:
    """A tuple, or what is drawn from and never changed: a `range`, what `zip` gives."""

    items: Items
    names: tuple[str, ...] = ()
    """Of a named tuple, what its elements are called."""


_YIELDS = frozenset({ast.Yield, ast.YieldFrom})
_INNER = frozenset({ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef})


@record(eq=False, slots=False)
class Code:
    """A function, lambda or generator as it is written."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    module: Module
    name: str

    @cached_property
    def is_generator(self) -> bool:
        return bool(self._kinds & _YIELDS)

    @cached_property
    def has_inner(self) -> bool:
        """Whether functions are made in it, which may outlive it and keep its variables."""
        return bool(self._kinds & _INNER)

    @cached_property
    def _kinds(self) -> set[type[ast.AST]]:
        """The kinds of nodes in it, but for those in functions inside it."""
        stack: list[ast.AST] = [self.node.body] if isinstance(self.node, ast.Lambda) else [*self.node.body]
        found: set[type[ast.AST]] = set()
        while stack:
            each = stack.pop()
            found.add(each.__class__)
            if each.__class__ not in _INNER:
                stack += children(each)
        return found

    @property
    def place(self) -> Place:
        return Place(self.module.path, self.node.lineno)


@record
class FunctionValue:
    """A function of the project, with the variables around it and the values of its defaults."""

    code: Code
    frame: Address
    """The frame of the function or module that it was defined in."""
    defaults: tuple[tuple[str, Value], ...] = ()
    owner: ClassValue | None = None


@record
class Bound:
    """A method with the object that it is called on."""

    function: Value
    receiver: Value


@record
class LibraryMethod:
    """A method of a value that the library models: of a tensor, of a module of torch."""

    owner: str
    name: str
    receiver: Value


@record
class Descriptor:
    """What `property`, `staticmethod`, `classmethod` or `contextmanager` makes of a function."""

    kind: str
    function: Value
    setter: Value | None = None


@record
class Wrapped:
    """A function that runs inside a context manager: `torch.no_grad()(function)`."""

    function: Value
    manager: Value


@record
class Partial:
    """A callable with some of its arguments."""

    function: Value
    positional: tuple[Value, ...] = ()
    keywords: tuple[tuple[str, Value], ...] = ()


@record
class Super:
    """`super()` in a method: what the class after `after` in the order of `receiver` has."""

    after: ClassValue
    receiver: Value


@record(eq=False)
class ClassValue:
    """A class of the project, as it was made in one context."""

    cls: Class | None
    name: str
    address: Address
    bases: tuple[Value, ...] = ()
    order: tuple[ClassValue | LibraryName | Unknown, ...] = ()
    """The order in which attributes are looked up, after itself."""

    @property
    def mro(self) -> tuple[ClassValue | LibraryName | Unknown, ...]:
        return (self, *self.order)

    @property
    def library_bases(self) -> tuple[str, ...]:
        return tuple(each.name for each in self.order if isinstance(each, LibraryName))

    @property
    def is_known(self) -> bool:
        """Whether every class that it derives from is known."""
        return not any(isinstance(each, Unknown) for each in self.order)


@record
class ModuleValue:
    """A module of the project."""

    path: str


@record
class LibraryName:
    """What a dotted name leads to outside of the project: `torch.nn.Linear`, `builtins.len`."""

    name: str


@record
class Generator:
    """A generator that waits for its consumer: it runs with the consumer's body at each of its yields."""

    function: FunctionValue
    arguments: tuple[tuple[str, Value], ...]
    context: Context = field(compare=False)
    is_manager: bool = False


@record
class Regions:
    """The regions that are open, outermost first."""

    stack: tuple[Region, ...] = ()


@record
class Region:
    """An open region: of autocast or of another mode."""

    kind: str
    device: str = ""
    dtypes: frozenset[str] = frozenset()
    enabled: bool | None = True
    place: Place | None = field(default=None, compare=False)


@record
class Unknown:
    """What was not followed: why, and where. `name` is what a library calls it, where that is known."""

    reason: str
    place: Place | None = None
    cls: ClassValue | LibraryName | None = None
    """The class that it is of, where that alone is known."""
    role: str = ""
    """What its uses prove it to be."""


NUMBER = "number"
"""The role of an unknown that is a number of Python: beside a tensor it leaves the dtype as it is."""


SCALED = "scaled by "
"""Begins the role of an unknown that a method `scale` of an input gave; the input follows."""


@record
class Absent:
    """No value: the variable or field may not be there."""


ABSENT = Absent()
NONE = constant(None)
TRUE, FALSE = constant(True), constant(False)


@record(frozen=False)  # for what is worked out once
class OneOf:
    """One of several values, each under the decisions that lead to it."""

    cases: tuple[tuple[Atom, Decisions], ...]
    subjects: frozenset[str] | None = field(default=None, compare=False)
    """What its decisions ask about, once that has been asked (`subjects_of`)."""
    left: dict[Decisions, Value] | None = field(default=None, compare=False)
    """What decisions leave of it, as far as that has been asked (`under`)."""
    present: Value | None = field(default=None, compare=False)
    """It without what is absent, once that has been asked (`lattice.present`)."""


Atom: TypeAlias = (
    Constant
    | Option
    | Condition
    | Tensor
    | Object
    | Container
    | Tuple
    | Items
    | FunctionValue
    | Bound
    | LibraryMethod
    | Descriptor
    | Wrapped
    | Partial
    | Super
    | ClassValue
    | ModuleValue
    | LibraryName
    | Generator
    | Regions
    | Unknown
    | Absent
)
Value: TypeAlias = Atom | OneOf
NO_REGIONS = Regions()
