"""The machine: it runs a program, or a function that nobody calls, and tells what it saw."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from verifygate.base.failures import contained, room_for_nesting, words_of
from verifygate.base.records import record, replace
from verifygate.static.machine.attributes import module_address
from verifygate.static.machine.call import Library
from verifygate.static.machine.core import Emitted, EndedError, Limits, OverBudgetError, Running
from verifygate.static.machine.entries import Entry
from verifygate.static.machine.python.library import PYTHON
from verifygate.static.machine.statements import Statements
from verifygate.static.machine.values import (
    Address,
    ClassValue,
    Constant,
    Descriptor,
    FunctionValue,
    Option,
    Place,
    Unknown,
    Value,
)
from verifygate.static.symbols.program import Program

_FRAMES = 12_000
"""Frames of Python that one run may take: forty calls inside each other, each deep in expressions."""
Observer = Callable[["Machine", Place], None]


class Machine(Statements):
    """One run. Entries that share modules share a machine; each starts from the state after its imports."""

    def __init__(
        self,
        program: Program,
        libraries: Iterable[Library] = (),
        limits: Limits | None = None,
        observer: Observer | None = None,
    ) -> None:
        super().__init__(program, (PYTHON, *libraries), limits)
        if observer is not None:
            self.observer = lambda place: observer(self, place)
            self.keeps = False  # each call is to be seen

    def run(self, entry: Entry) -> None:
        """Run an entry."""
        if not entry.symbol:
            self.run_module(entry.path)
            return
        self.load_module(entry.path)
        owner, _, name = entry.symbol.rpartition(".")
        home: Address | None = module_address(entry.path)
        cls: Value | None = None
        for each in owner.split(".") if owner else ():
            cls = self.field(home, each) if home is not None else None
            home = cls.address if isinstance(cls, ClassValue) else None
        function = self.field(home, name) if home is not None else None
        function = function.function if isinstance(function, Descriptor) else function
        if isinstance(function, FunctionValue):
            module = self.program.module(entry.path)
            assert module is not None  # noqa: S101 - its function is there
            self.frame = Running(module_address(entry.path), module, "")
            self.run_alone(function, cls if isinstance(cls, ClassValue) else None)

    def run_module(self, path: str) -> bool:
        """Run a file as a program; tells whether it came to its end."""
        module = self.program.module(path)
        if module is None:
            return False
        self.main = path
        self.load_module(path)
        return True

    def run_alone(self, value: FunctionValue, owner: ClassValue | None = None) -> Value:
        """Run a function that nobody calls, with inputs for its arguments; a method on an object made so too."""
        arguments = self._inputs(value)
        if owner is not None and arguments:
            name = next(iter(arguments))
            arguments[name] = self._made(owner)
        return self.run_function(value, arguments, ("alone", value.code.name))

    def _made(self, cls: ClassValue) -> Value:
        """An object of a class, its constructor's arguments unknown inputs."""
        made = self.new_object(cls, ("alone", cls.name), {})
        if not cls.is_known:
            self.state.store.write(made.address, "#rest", Unknown(f"a base of `{cls.name}` is not known", self.place))
        start = self._initializer(made, ("alone", cls.name))
        function = getattr(start, "function", None)
        if isinstance(function, FunctionValue):
            arguments = self._inputs(function)
            arguments[next(iter(arguments), "self")] = made
            try:
                self.run_function(function, arguments, ("alone", cls.name, "__init__"))
            except EndedError:
                pass
        return made

    def _inputs(self, function: FunctionValue) -> dict[str, Value]:
        given = function.code.node.args
        bound = self.bind(function, (), {})
        for each in (*given.posonlyargs, *given.args, *given.kwonlyargs):
            default = dict(function.defaults).get(each.arg)
            known = default if isinstance(default, Constant) else None
            bound[each.arg] = Option(each.arg, known, place=function.code.place)
        return bound


@record
class Outcome:
    """What running one entry showed."""

    entry: Entry
    events: tuple[Emitted, ...] = ()
    not_followed: tuple[Unknown, ...] = ()
    steps: int = 0
    ended: str = ""
    """Why it was given up; empty where it was not."""


def run_entry(
    program: Program,
    entry: Entry,
    libraries: Iterable[Library] = (),
    limits: Limits | None = None,
    observer: Observer | None = None,
) -> Outcome:
    """Run one entry."""
    return run(Machine(program, libraries, limits, observer), entry)


def run_entries(
    program: Program,
    entries: Iterable[Entry],
    libraries: Iterable[Library] = (),
    limits: Limits | None = None,
    most_steps: int | None = None,
) -> Iterator[Outcome]:
    """Run entries one after another on one machine, which answers what they share once.

    `most_steps` is what all may take together: the entry that comes to it does what one past its budget does, and those
    after it are given up, and say so.
    """
    machine = Machine(program, libraries, limits)
    given, taken = machine.limits, 0
    for entry in entries:
        if most_steps is not None and taken >= most_steps:
            yield Outcome(entry, ended=f"all entries before it took {most_steps} steps")
            continue
        if most_steps is not None:
            machine.limits = replace(given, steps=min(given.steps, most_steps - taken))
        outcome = run(machine, entry)
        taken += outcome.steps
        yield outcome


def given_up(outcomes: Iterable[Outcome]) -> dict[str, int]:
    """How many entries were not run to their end, by reason."""
    return dict(sorted(Counter(each.ended for each in outcomes if each.ended).items()))


def run(machine: Machine, entry: Entry) -> Outcome:
    """Run one entry. What ends it early, a fault of the machine's own too, ends this one alone, and is said."""
    machine.begin()
    ended = ""
    with room_for_nesting(_FRAMES):
        try:
            machine.run(entry)
        except OverBudgetError:
            ended = f"more than {machine.limits.steps} steps"
        except RecursionError:
            ended = "nested too deeply"
        except EndedError:
            pass
        except Exception as error:
            ended = f"the machine broke: {words_of(contained(error))}"
    return Outcome(entry, tuple(machine.events), tuple(machine.not_followed), machine.steps, ended)
