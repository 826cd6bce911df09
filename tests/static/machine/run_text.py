"""Source text on the machine: what its variables hold at the end."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.static.machine.attributes import module_address
from verifygate.static.machine.call import Library
from verifygate.static.machine.core import Limits
from verifygate.static.machine.machine import Machine
from verifygate.static.machine.values import (
    Absent,
    Condition,
    Constant,
    Object,
    OneOf,
    Option,
    Tensor,
    Tuple,
    Unknown,
    Value,
)
from verifygate.static.symbols.program import Program

MAIN = "train.py"


def program_of(text: str, files: dict[str, str] | None = None) -> Program:
    """A program out of source text: of `train.py`, and of other files by path."""
    named = {MAIN: text} | (files or {})
    sources = Sources([SourceFile(path, textwrap.dedent(content).encode()) for path, content in named.items()])
    return Program(sources, dict.fromkeys(named))


def run(
    text: str, files: dict[str, str] | None = None, libraries: Iterable[Library] = (), limits: Limits | None = None
) -> Machine:
    """The machine after it ran `train.py`."""
    machine = Machine(program_of(text, files), libraries, limits)
    assert machine.run_module(MAIN)
    return machine


def shown(machine: Machine, value: Value | None) -> str:
    """A value as a test writes it."""
    if value is None or isinstance(value, Absent):
        return "-"
    if isinstance(value, OneOf):
        each = [
            shown(machine, atom) + (f" if {' and '.join(sorted(map(str, when)))}" if when else "")
            for atom, when in value.cases
        ]
        return " | ".join(sorted(each))
    match value:
        case Constant():
            return repr(value.value)
        case Option():
            return f"<{value.identity}>"
        case Condition():
            return f"<{'not ' if value.negated else ''}{value.test}>"
        case Unknown():
            return "?"
        case Tensor():
            return f"tensor({', '.join(sorted(value.dtypes)) or '?'})"
        case Tuple(items=items):
            return f"({', '.join(shown(machine, each) for each in items.all)}{', ...' if items.rest else ''})"
        case Object():
            return f"a {value.cls.name}"
    items = machine.items(value)
    if items is not None:
        rest = [f"*{shown(machine, items.rest)}"] if items.rest is not None else []
        return f"[{', '.join([*(shown(machine, each) for each in items.values), *rest])}]"
    return getattr(value, "name", type(value).__name__)


def variable(machine: Machine, name: str) -> str:
    """A variable of `train.py` at its end."""
    return shown(machine, machine.state.read(module_address(MAIN), name))


def value(machine: Machine, name: str) -> Value:
    """The same as a value."""
    return machine.state.read(module_address(MAIN), name)
