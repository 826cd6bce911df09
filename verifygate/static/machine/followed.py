"""Which calls are followed: those that may leave an event that rules read, or give what such events are about.

What a function may do by its names is told from the syntax (`relevance.py`); which methods it may call, and whether
there is anything for it to do them to, from the values at hand: its arguments and what these lead to. A call that is
not followed gives a value that is not known, and what it may have written is not known from there on.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterable
from functools import cached_property

from verifygate.base.records import field, record
from verifygate.static.machine.attributes import Attributes, module_address
from verifygate.static.machine.call import Matter
from verifygate.static.machine.core import ITEMS
from verifygate.static.machine.lattice import atoms, joined
from verifygate.static.machine.relevance import CHEAP, Closure, Relevance, variables_of
from verifygate.static.machine.relevance_facts import COMPUTED, plain
from verifygate.static.machine.values import (
    ABSENT,
    NONE,
    Address,
    Atom,
    Bound,
    ClassValue,
    Code,
    Container,
    Descriptor,
    FunctionValue,
    Generator,
    Items,
    LibraryMethod,
    LibraryName,
    Object,
    Option,
    Partial,
    Super,
    Tensor,
    Tuple,
    Unknown,
    Value,
    Wrapped,
)

NOT_RELEVANT = "is not relevant: nothing comes of it that a rule reads"
_MOST_AT_HAND = 200
"""Objects that are looked through for what a function may do something to; where there are more, it is followed."""
_LOW = frozenset({"float16", "bfloat16"})


@record(eq=False, frozen=False)
class AtHand:
    """What some values lead to."""

    addresses: dict[Address, None] = field(default_factory=dict)
    classes: set[str] = field(default_factory=set)
    """Of the objects, with those that these derive from."""
    codes: set[ast.AST] = field(default_factory=set)
    """Functions that may be called."""
    has_state: bool = False
    """A module, an optimizer, a scaler, a parameter or a tensor in half is among them."""
    has_values: bool = False
    """A tensor is among them, a function or a class."""
    has_options: bool = False
    is_too_much: bool = False


class Followed(Attributes):
    """How it is decided whether a call is followed."""

    def run_statements(
        self, function: FunctionValue, variables: dict[str, Value], site: Hashable, body: list[ast.stmt]
    ) -> None:
        """Run some of the statements of a function, with its parameters set."""
        raise NotImplementedError

    @cached_property
    def relevance(self) -> Relevance:
        return Relevance(self.program, self.libraries)

    @cached_property
    def _verdicts(self) -> dict[tuple[object, ...], tuple[str, tuple[Closure, ...]]]:
        """What was decided of functions, by what is at hand."""
        return {}

    def left_out(
        self, code: Code, function: FunctionValue, variables: dict[str, Value], site: Hashable
    ) -> Value | None:
        """The value of a call that need not be followed; None where it is to be."""
        if self.limits.follows_all or code.module.is_model:
            return None
        closure = self.relevance.of(code.node)
        if closure is None or closure.matter is Matter.EVENT or closure.cost <= CHEAP or closure.facts.is_generator:
            return None
        hand, reached, reason = AtHand(), closure.reached, ""
        self._look(hand, [atom for value in variables.values() for atom in atoms(value)])
        self._look(hand, self._in_frame(function.frame))
        seen: frozenset[tuple[str, str]] = frozenset()
        while (ahead := variables_of(reached) - seen) or not seen:
            self._look(hand, self._of_modules(ahead))
            if hand.is_too_much:
                return None
            reason, reached = self._verdict(closure, hand)
            if reason or not ahead:
                break
            seen |= ahead
        is_taken = closure.facts.gives and site != self.frame.dropped
        if reason or self._gives_on(hand, reached, is_taken=is_taken):
            return None
        change = self.unknown(f"`{closure.facts.symbol}` {NOT_RELEVANT}")
        self._may_write(hand, reached, change)
        self._run_plainly(closure, function, variables, site)
        return change if closure.facts.gives else NONE

    @staticmethod
    def _gives_on(hand: AtHand, reached: tuple[Closure, ...], *, is_taken: bool) -> bool:
        """Whether something that rules ask for may come back, or may be kept somewhere."""
        if is_taken and (hand.has_state or hand.has_values or hand.has_options or any(each.makes for each in reached)):
            return True
        has_any = hand.has_state or hand.has_values or any(each.makes_values for each in reached)
        return has_any and any(_keeps(each, hand) for each in reached)

    def _run_plainly(
        self, closure: Closure, function: FunctionValue, variables: dict[str, Value], site: Hashable
    ) -> None:
        """Set the attributes that a function sets to what it is given."""
        body = plain(closure.facts)
        if body:
            self.run_statements(function, variables, site, body)

    def _verdict(self, closure: Closure, hand: AtHand) -> tuple[str, tuple[Closure, ...]]:
        """Why a function is followed where such things are at hand, empty where it need not be; what it may call."""
        key = (closure.facts.node, frozenset(hand.classes), frozenset(hand.codes), hand.has_state)
        found = self._verdicts.get(key)
        if found is None:
            given = [self.relevance.of(node) for node in hand.codes]
            known = [each for each in given if each is not None]
            reached = self.relevance.reached([closure], frozenset(hand.classes))
            calls = any(each.calls_a_variable for each in reached)
            if known and calls:
                reached = self.relevance.reached([closure, *known], frozenset(hand.classes))
            least = Matter.OF_STATE if hand.has_state else Matter.EVENT
            reason = next((each.reason for each in reached if each.own >= least), "")
            if calls and len(known) < len(given):
                reason = "a lambda is called"
            found = self._verdicts[key] = reason, reached
        return found

    # -- what is at hand -----------------------------------------------------------------------------------------

    def _look(self, hand: AtHand, ahead: list[Atom]) -> None:
        """Note what some values lead to."""
        while ahead and not hand.is_too_much:
            ahead += self._look_at(ahead.pop(), hand)
            hand.is_too_much = len(hand.addresses) > _MOST_AT_HAND

    def _of_modules(self, variables: Iterable[tuple[str, str]]) -> list[Atom]:
        """What variables of modules hold, but for functions and classes: the call graph has those."""
        found: list[Atom] = []
        for path, name in sorted(variables):
            value = self.field(module_address(path), name) if path in self.modules_loaded else None
            if value is not None:
                found += (atom for atom in atoms(value) if not isinstance(atom, FunctionValue | ClassValue))
        return found

    def _in_frame(self, frame: Address) -> list[Atom]:
        """The variables of the functions around one."""
        found: list[Atom] = []
        here: Address | None = frame
        while here is not None and not self._is_of_module(here):
            found += [atom for value in self.state.store.fields(here).values() for atom in atoms(value)]
            here = self.outer.get(here)
        return found

    @staticmethod
    def _is_of_module(address: Address) -> bool:
        return isinstance(address.site, tuple) and address.site[:1] == ("module",)

    def _look_at(self, atom: Atom, hand: AtHand) -> Iterable[Atom]:
        """Note what a value is, and give what it leads to."""
        match atom:
            case Tensor():
                hand.has_values = True
                hand.has_state |= atom.is_parameter or bool(atom.dtypes & _LOW)
            case Option():
                hand.has_options = True
            case Object() | Container():
                return self._look_into(atom, hand)
            case Tuple():
                return [each for value in atom.items.all for each in atoms(value)]
            case FunctionValue():
                if atom.code.node not in hand.codes:
                    hand.codes.add(atom.code.node)
                    hand.has_values = True
                    return self._in_frame(atom.frame)
            case Bound() | Super() | LibraryMethod():
                inner = atom.function if isinstance(atom, Bound) else NONE
                return [each for value in (inner, atom.receiver) for each in atoms(value)]
            case Partial():
                values = (atom.function, *atom.positional, *(value for _, value in atom.keywords))
                return [each for value in values for each in atoms(value)]
            case Wrapped() | Descriptor():
                return atoms(atom.function)
            case Generator():
                return [atom.function, *(each for _, value in atom.arguments for each in atoms(value))]
            case ClassValue():
                hand.has_values = True
                self._note_class(atom, hand)
            case LibraryName():
                hand.has_options |= bool(self.relevance.matters(atom.name))
                hand.has_state |= self.relevance.matters(atom.name) is Matter.EVENT
            case Unknown(cls=ClassValue() | LibraryName() as cls):
                return self._look_at_class(cls, hand)
        return ()

    def _note_class(self, cls: ClassValue, hand: AtHand) -> None:
        hand.classes |= {each.name for each in cls.mro if isinstance(each, ClassValue)}
        hand.has_state |= cls.cls is None or cls.cls.module.is_model
        hand.has_state |= any(self.relevance.matters(each) is Matter.EVENT for each in cls.library_bases)

    def _look_into(self, of: Object | Container, hand: AtHand) -> Iterable[Atom]:
        if of.address in hand.addresses:
            return ()
        hand.addresses[of.address] = None
        found = [each for value in self.state.store.fields(of.address).values() for each in atoms(value)]
        found += [each for atom in found if isinstance(atom, Items) for value in atom.all for each in atoms(value)]
        if isinstance(of, Object):
            found += self._look_at_class(of.cls, hand)
        return found

    def _look_at_class(self, cls: ClassValue | LibraryName, hand: AtHand) -> Iterable[Atom]:
        if isinstance(cls, LibraryName):
            return self._look_at(cls, hand)
        self._note_class(cls, hand)
        return ()

    # -- what may be written -------------------------------------------------------------------------------------

    def _may_write(self, hand: AtHand, reached: tuple[Closure, ...], change: Unknown) -> None:
        """Let what a function may have written be not known."""
        written = {name for each in reached for name in each.facts.writes}
        changes = any(each.changes for each in reached)
        for address in hand.addresses:
            fields = self.state.store.peek(address)
            names = fields if COMPUTED in written else written & fields.keys()
            for name in [*names, *([ITEMS] if changes and ITEMS in fields else [])]:
                value = fields[name]
                self.state.store.write(address, name, _changed(value, change) if name == ITEMS else _or(value, change))
        for each in reached:
            home = module_address(each.facts.path)
            for name in each.facts.declared if each.facts.path in self.modules_loaded else ():
                self.state.store.write(home, name, _or(self.state.store.read(home, name), change))


def _keeps(closure: Closure, hand: AtHand) -> bool:
    """Whether a function by itself may put something where it is found later on: into what is at hand."""
    facts = closure.facts
    if facts.declared or (closure.changes and hand.addresses):
        return True
    if facts.owner and facts.owner in hand.classes:
        return bool(facts.writes)
    return bool(hand.classes) and any(root != facts.receiver or not root for root in facts.writes.values())


def _or(value: Value, change: Unknown) -> Value:
    return change if value is ABSENT or isinstance(value, Unknown) else joined([value, change])


def _changed(value: Value, change: Unknown) -> Value:
    """The contents of a container that may be others."""
    found = [each for each in atoms(value) if isinstance(each, Items)]
    if not found:
        return value
    values = tuple(Items(each.keys, tuple(_or(one, change) for one in each.values), change) for each in found)
    return joined(values)
