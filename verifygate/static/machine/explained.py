"""What the machine knows at one line: values, where they come from, regions, decisions, and what is not followed."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterable, Iterator

from verifygate.base.records import field, record
from verifygate.static.machine.call import PROCESS, REGIONS, Library
from verifygate.static.machine.core import Limits, Running
from verifygate.static.machine.entries import Entry
from verifygate.static.machine.inputs import EVIDENCE
from verifygate.static.machine.lattice import cases
from verifygate.static.machine.machine import Machine, Outcome, run
from verifygate.static.machine.models import PROJECTS
from verifygate.static.machine.values import (
    NO_LINE,
    Absent,
    Address,
    Atom,
    ClassValue,
    Code,
    Condition,
    Constant,
    Container,
    Decisions,
    FunctionValue,
    LibraryName,
    Object,
    Option,
    Place,
    Region,
    Regions,
    Tensor,
    Tuple,
    Unknown,
    Value,
)
from verifygate.static.symbols.program import Program
from verifygate.static.uses.roles import Evidence

_MOST_STATES = 6
_MOST_CHAINS = 3
_MOST_VALUES = 8
_MOST_ELEMENTS = 4
_LONGEST = 100


Values = dict[str, dict[str, None]]
"""A name on the line -> what it may hold after the line, in words."""


@record
class Mode:
    """In which program the line was reached, and what holds there besides its variables."""

    entry: Entry
    is_alone: bool
    """Whether it is a function that the machine calls by itself."""
    region: str
    grad: str
    decisions: tuple[str, ...]


@record
class Seen:
    """One state in which the line was reached."""

    mode: Mode
    values: Values
    chains: tuple[str, ...]
    """The calls that lead there, each chain in words; empty where the line is not in a function."""


@record(eq=False, frozen=False)
class Window:
    """What is seen at one line while programs run."""

    place: Place
    names: tuple[str, ...]
    """The variables and attributes on the line, as they are written."""
    reached: dict[tuple[str, Mode], Values] = field(default_factory=dict)
    """By the chain of calls: what a name may hold in each round of the loops around is one of several."""
    entry: Entry = Entry("")
    is_entered: bool = False
    """Whether a program calls the function around the line, if only to another line."""

    def look(self, machine: Machine, place: Place) -> None:
        """Told of each line that has run."""
        if place == self.place and not machine.frame.module.is_model:
            values = self.reached.setdefault((_chain(machine), _mode(machine, self.entry)), {})
            for name, held in _values(machine, self.names):
                values.setdefault(name, {}).update(dict.fromkeys(held))

    def seen(self) -> tuple[Seen, ...]:
        """States that differ in nothing but the calls that lead there are one."""
        found: dict[Hashable, Seen] = {}
        for (chain, mode), values in self.reached.items():
            key = (mode, *((name, *held) for name, held in values.items()))
            before = found[key].chains if key in found else ()
            found[key] = Seen(mode, values, (*before, chain) if chain else before)
        return tuple(found.values())


@record
class Explained:
    """All that is known of one line."""

    place: Place
    seen: tuple[Seen, ...]
    events: tuple[str, ...]
    not_followed: tuple[str, ...]
    outcomes: tuple[Outcome, ...]
    alone: str
    """Why a function was run by itself."""


def explained(
    program: Program,
    place: Place,
    entries: Iterable[Entry],
    libraries: Iterable[Library] = (),
    limits: Limits | None = None,
) -> Explained:
    """Run these entries, and tell what is known at a line of one of their files."""
    window = Window(place, tuple(_names(program, place)))
    outcomes = []
    for entry in entries:
        if window.reached and entry.symbol:
            break  # a program reaches it: nobody need call the function alone
        window.entry = entry
        machine = Machine(program, libraries, limits, window.look)
        outcomes.append(run(machine, entry))
        window.is_entered |= not entry.symbol and any(_holds(code, place) for code in machine.ran)
    events = [each for outcome in outcomes for each in outcome.events]
    at_line = [each for each in events if (each.event.file, each.event.line) == place]
    unknown = [each for outcome in outcomes for each in outcome.not_followed if each.place == place]
    return Explained(
        place,
        window.seen(),
        tuple(dict.fromkeys(_event(each.event.kind.value, each.event.operator, each.decisions) for each in at_line)),
        tuple(dict.fromkeys(each.reason for each in unknown)),
        tuple(outcomes),
        _alone(window, [each for each in outcomes if not each.entry.symbol]),
    )


def _holds(code: Code, place: Place) -> bool:
    return code.module.path == place.path and code.node.lineno <= place.line <= (code.node.end_lineno or 0)


def _alone(window: Window, programs: list[Outcome]) -> str:
    """Why the function around the line is run by itself, where it is."""
    is_sure = not any(each.not_followed or each.ended for each in programs)
    what = "reaches the line" if window.is_entered else "calls it"
    return f"no program here {what}{'' if is_sure else ', as far as is followed'}"


def _event(kind: str, operator: str | None, decisions: Decisions) -> str:
    return f"{kind}{f' {operator}' if operator else ''}{_under(decisions)}"


def _names(program: Program, place: Place) -> Iterator[str]:
    """The variables and attributes that are written on a line, each once, in order."""
    module = program.module(place.path)
    found: dict[str, None] = {}
    for node in ast.walk(module.tree) if module is not None else ():
        if getattr(node, "lineno", 0) == place.line and isinstance(node, ast.Name | ast.Attribute):
            dotted = _dotted(node)
            if dotted:
                found.setdefault(dotted)
    return iter(sorted(found))


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (base := _dotted(node.value)):
        return f"{base}.{node.attr}"
    return ""


def _chain(machine: Machine) -> str:
    """The places of the calls that lead here, the nearest first."""
    return ", from ".join(f"{each.path}:{each.line}" for each in machine.frames()[1:] if each.line != NO_LINE)


def _mode(machine: Machine, entry: Entry) -> Mode:
    regions = machine.field(PROCESS, REGIONS)
    region = regions.stack if isinstance(regions, Regions) else None
    grad = machine.field(PROCESS, "grad")
    return Mode(
        entry,
        machine.frames()[-1].line == NO_LINE,
        "not known" if region is None else (_region(region[-1]) if region else "none"),
        ("on" if grad.value else "off") if isinstance(grad, Constant) else "not known",
        tuple(
            f"{each.test.replace(PROJECTS, '')}: {'holds' if each.holds else 'does not hold'}"
            for each in sorted(machine.state.decisions)
        ),
    )


def _values(machine: Machine, names: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    for name in names:
        value = _value(machine, machine.frame, name)
        if value is not None and not _is_plain_name(value):
            yield name, [shown(machine, atom) + _under(when) for atom, when in cases(value)]


def _is_plain_name(value: Value) -> bool:
    return isinstance(value, LibraryName | Absent)


def _value(machine: Machine, frame: Running, name: str) -> Value | None:
    """What a dotted name holds; None where looking it up would run code."""
    head, *rest = name.split(".")
    here: Address | None = frame.address
    value: Value | None = None
    while here is not None and value is None:
        value = machine.field(here, head)
        here = machine.outer.get(here)
    for each in rest:
        value = machine.field(value.address, each) if isinstance(value, Object) else None
    return value


def _region(region: Region) -> str:
    enabled = {True: "", False: ", not enabled", None: ", enabled or not"}[region.enabled]
    dtypes = " or ".join(sorted(region.dtypes)) or "of a dtype that is not known"
    return f"{region.device} {dtypes}{enabled}{_at(region.place)}".lstrip()


def _at(place: Place | None) -> str:
    return f" ({place})" if place is not None and place.line != NO_LINE else ""


def _under(decisions: Decisions) -> str:
    return f" if {' and '.join(sorted(map(str, decisions)))}".replace(PROJECTS, "") if decisions else ""


def shown(machine: Machine, value: Atom) -> str:
    """One value in words, with the place that it comes from."""
    match value:
        case Constant():
            return repr(value.value)[:_LONGEST]
        case Option():
            default = f", default {value.default.value!r}" if value.default is not None else ""
            kind = (
                "the option " if not value.is_parameter else "the parameter " if value.identity.isidentifier() else ""
            )
            origin = "" if kind else ", from a parameter"
            return f"{kind}{value.identity}{origin}{default}{_at(value.place)}"
        case Condition():
            return f"{'not ' if value.negated else ''}{value.test}"
        case Tensor():
            return _tensor(value)
        case Object():
            return f"{value.cls.name} {_origin(machine, value)}{_dtype(machine, value)}"
        case Container() | Tuple():
            return _elements(machine, value)
        case FunctionValue():
            return f"the function {value.code.name}{_at(value.code.place)}"
        case ClassValue():
            return f"the class {value.name}"
        case Unknown():
            return f"not known: {value.reason}{_at(value.place)}"
        case Absent():
            return "nothing"
    return getattr(value, "name", type(value).__name__.lower())


def _tensor(value: Tensor) -> str:
    dtypes = " or ".join(sorted(value.dtypes)) or "of a dtype that is not known"
    words = "parameter" if value.is_parameter else "tensor"
    scaled = ", scaled" if value.scaled_by else ""
    reason = f": {value.reason}" if value.reason else ""
    return f"{words} {dtypes}{scaled}{reason}{_at(value.place)}"


def _origin(machine: Machine, value: Object) -> str:
    """Where an object was made; of one that nothing made, how it is known to be what it is."""
    evidence = machine.field(value.address, EVIDENCE)
    if isinstance(evidence, Constant) and isinstance(evidence.value, int):
        return f"by its {Evidence(evidence.value).name.lower()}"
    place = value.address.place
    return f"made at {place}" if place is not None and place.line != NO_LINE else "that nothing here makes"


def _dtype(machine: Machine, value: Object) -> str:
    """The dtype of a module's own parameters, where it has any."""
    own = machine.field(value.address, "#dtype")
    if own is None:
        return ""
    return ", parameters " + " or ".join(
        f"{' or '.join(sorted(atom.dtypes)) or 'of a dtype that is not known'}{_at(atom.place)}{_under(when)}"
        for atom, when in cases(own)
        if isinstance(atom, Tensor)
    )


def _elements(machine: Machine, value: Container | Tuple) -> str:
    items = machine.items(value)
    kind = value.kind if isinstance(value, Container) else "tuple"
    if items is None:
        return f"{kind} whose elements are not known"
    first = [shown(machine, atom) for each in items.all[:_MOST_ELEMENTS] for atom, _ in cases(each)[:1]]
    count = f"{len(items.keys)}" if items.rest is None else f"{len(items.keys)} or more"
    return f"{kind} of {count}: {'; '.join(first)}"[: 3 * _LONGEST] if first else f"empty {kind}"


def _at_most(most: int, lines: list[str], more: str) -> list[str]:
    return lines[:most] + ([more.format(len(lines) - most)] if len(lines) > most else [])


def text(explained: Explained) -> str:
    """The answer as lines. What is no variable has a heading of two words."""
    lines = [f"{explained.place}"]
    for seen in explained.seen[:_MOST_STATES]:
        mode = seen.mode
        lines += ["", f"reached from {f'{mode.entry}: {explained.alone}' if mode.is_alone else mode.entry.path}"]
        chains = [f"  called at {each}" for each in seen.chains]
        lines += _at_most(_MOST_CHAINS, chains, "  more chains of calls: {}")
        for name, held in seen.values.items():
            values = [f"{'    or' if number else f'  {name}:'} {each}" for number, each in enumerate(held)]
            lines += _at_most(_MOST_VALUES, values, "    more values: {}")
        lines += [f"  autocast region: {mode.region}", f"  gradient mode: {mode.grad}"]
        lines += [f"  branch decided: {each}" for each in mode.decisions]
    if len(explained.seen) > _MOST_STATES:
        lines += ["", f"more states: {len(explained.seen) - _MOST_STATES}"]
    if not explained.seen:
        lines.append("  no program reaches this line, as far as is followed")
    rest = [f"event: {each}" for each in explained.events]
    rest += [f"not followed: {each}" for each in explained.not_followed]
    rest += [f"given up: {each.entry}: {each.ended}" for each in explained.outcomes if each.ended]
    return "\n".join([*lines, *([""] if rest else []), *rest])
