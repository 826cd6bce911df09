"""What the machine knows at one line: values, where they come from, regions, decisions, and what is not followed."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from verifygate.base.records import record
from verifygate.static.machine.call import PROCESS, REGIONS, Library
from verifygate.static.machine.core import Limits, Running
from verifygate.static.machine.entries import Entry
from verifygate.static.machine.lattice import cases
from verifygate.static.machine.machine import Machine, Outcome, run_entry
from verifygate.static.machine.values import (
    Absent,
    Address,
    Atom,
    ClassValue,
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

_MOST_STATES = 6
_MOST_ELEMENTS = 4
_LONGEST = 100


@record
class Seen:
    """One way in which the line was reached."""

    entry: str
    calls: tuple[str, ...]
    """The places of the calls that lead here, the nearest first."""
    values: tuple[tuple[str, tuple[str, ...]], ...]
    """A name on the line -> what it may hold, after the line."""
    region: str
    grad: str
    decisions: tuple[str, ...]


@record(eq=False, frozen=False)
class Window:
    """What is seen at one line while programs run."""

    place: Place
    names: tuple[str, ...]
    """The variables and attributes on the line, as they are written."""
    seen: dict[Seen, None]
    entry: str = ""

    def look(self, machine: Machine, place: Place) -> None:
        """Told of each line that has run."""
        if place == self.place and not machine.frame.module.is_model and len(self.seen) < _MOST_STATES:
            self.seen.setdefault(_seen(machine, self))


@record
class Explained:
    """All that is known of one line."""

    place: Place
    seen: tuple[Seen, ...]
    events: tuple[str, ...]
    not_followed: tuple[str, ...]
    outcomes: tuple[Outcome, ...]


def explained(
    program: Program,
    place: Place,
    entries: Iterable[Entry],
    libraries: Iterable[Library] = (),
    limits: Limits | None = None,
) -> Explained:
    """Run these entries, and tell what is known at a line of one of their files."""
    window = Window(place, tuple(_names(program, place)), {})
    outcomes = []
    for entry in entries:
        if window.seen and entry.symbol:
            break  # a program reaches it: nobody need call the function alone
        window.entry = str(entry)
        outcomes.append(run_entry(program, entry, libraries, limits, window.look))
    events = [each for outcome in outcomes for each in outcome.events]
    at_line = [each for each in events if (each.event.file, each.event.line) == place]
    unknown = [each for outcome in outcomes for each in outcome.not_followed if each.place == place]
    return Explained(
        place,
        tuple(window.seen),
        tuple(dict.fromkeys(_event(each.event.kind.value, each.event.operator, each.decisions) for each in at_line)),
        tuple(dict.fromkeys(each.reason for each in unknown)),
        tuple(outcomes),
    )


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


def _seen(machine: Machine, window: Window) -> Seen:
    values = []
    for name in window.names:
        value = _value(machine, machine.frame, name)
        if value is not None and not _is_plain_name(value):
            values.append((name, tuple(shown(machine, atom) + _under(when) for atom, when in cases(value))))
    regions = machine.field(PROCESS, REGIONS)
    region = regions.stack if isinstance(regions, Regions) else None
    grad = machine.field(PROCESS, "grad")
    return Seen(
        window.entry,
        tuple(f"{frame.path}:{frame.line}" for frame in machine.frames()[1:]),
        tuple(values),
        "not known" if region is None else (_region(region[-1]) if region else "none"),
        ("on" if grad.value else "off") if isinstance(grad, Constant) else "not known",
        tuple(sorted(map(str, machine.state.decisions))),
    )


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
    return f"{region.kind} {region.device} {dtypes}{enabled}{_at(region.place)}"


def _at(place: Place | None) -> str:
    return f" ({place})" if place is not None else ""


def _under(decisions: Decisions) -> str:
    return f" if {' and '.join(sorted(map(str, decisions)))}" if decisions else ""


def shown(machine: Machine, value: Atom) -> str:
    """One value in words, with the place that it comes from."""
    match value:
        case Constant():
            return repr(value.value)[:_LONGEST]
        case Option():
            default = f", default {value.default.value!r}" if value.default is not None else ""
            return f"the option {value.identity}{default}{_at(value.place)}"
        case Condition():
            return f"{'not ' if value.negated else ''}{value.test}"
        case Tensor():
            return _tensor(value)
        case Object():
            return f"{value.cls.name} made at {value.address.place}{_dtype(machine, value)}"
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


def text(explained: Explained) -> str:
    """The answer as lines."""
    lines = [f"{explained.place}"]
    for seen in explained.seen:
        lines += ["", f"reached from {seen.entry}" + "".join(f"\n  called at {each}" for each in seen.calls)]
        for name, values in seen.values:
            lines += [f"  {name}: {values[0]}", *(f"    or {each}" for each in values[1:])]
        lines += [f"  region: {seen.region}", f"  gradients: {seen.grad}"]
        lines += [f"  decided: {each}" for each in seen.decisions]
    if not explained.seen:
        lines.append("  no program reaches this line, as far as is followed")
    lines += [f"event: {each}" for each in explained.events]
    lines += [f"not followed: {each}" for each in explained.not_followed]
    lines += [f"given up: {each.entry}: {each.ended}" for each in explained.outcomes if each.ended]
    return "\n".join(lines)
