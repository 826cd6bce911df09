"""Class an error that ended a run or a test: did the program die of a fault of its own, or did something refuse?

A refusal is a `raise` or an `assert` of the project's own, or an exit with a code. What the interpreter raises where a
name, a key, an attribute or an argument is wrong is a fault of the program, wherever the line is reached.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePath

from verifygate.execution.remedies import MISSING_MODULE, NO_DEVICE, is_of_the_project, without_cuda

Place = tuple[str, int]


class Kind(StrEnum):
    """Whose doing an end is."""

    FAULT = "a fault of the program"
    REFUSAL = "a refusal of the program's own"
    GUARD = "an error that torch or another library raises"
    MACHINE = "something that this machine does not have"


FAULTS = frozenset(
    {"AttributeError", "NameError", "UnboundLocalError", "TypeError", "KeyError", "IndexError", "ImportError"}
    | {"ModuleNotFoundError", "ZeroDivisionError", "OverflowError", "RecursionError"}
    | {"SyntaxError", "IndentationError", "TabError"}
)
"""Errors of the interpreter. Raised by name, some of them are refusals too."""
_NEVER_RAISED_BY_NAME = frozenset({"AttributeError", "NameError", "UnboundLocalError", "ImportError"})
"""A library that raises one of these says that the caller asked for what is not there."""
_NO_MEMORY = frozenset({"MemoryError", "OutOfMemoryError"})
_NOT_REACHED = frozenset(
    {"ENETUNREACH", "EHOSTUNREACH", "ECONNREFUSED", "ETIMEDOUT"}
    | {"FileNotFoundError", "PermissionError", "ConnectionError", "ConnectionRefusedError", "ConnectionResetError"}
    | {"TimeoutError", "URLError", "HTTPError", "gaierror", "LocalEntryNotFoundError", "OfflineModeIsEnabled"}
)
_OUT_OF_MEMORY = re.compile(r"out of memory|can't allocate memory", re.IGNORECASE)
_DEVICES = ("cuda", "mps", "xpu")
"""Folders of torch whose functions ask for a device."""
_REMEDIES = (
    (re.compile(r"^module '([\w.]+)' has no attribute '(\w+)'"), "{0}: find what stands in for it, or another version"),
    (re.compile(r"^'([\w.]+)' object has no attribute '(\w+)'"), "give `{0}` the attribute `{1}`, or use one it has"),
    (re.compile(r"^type object '([\w.]+)' has no attribute '(\w+)'"), "give `{0}` the attribute `{1}`"),
    (re.compile(r"^name '(\w+)' is not defined"), "define or import `{0}` before this line"),
    (re.compile(r"local variable '(\w+)'"), "give `{0}` a value on every way to this line"),
    (
        re.compile(r"^cannot import name '(\w+)' from '([\w.]+)'"),
        "`{1}` has no `{0}`: correct the import, or find what stands in for it",
    ),
)
"""What an error's message says is missing -> what to write."""


_NO_FIXTURE = re.compile(r"^\('(\w+)', <\w*Request for <Function ([\w\[\]-]+)>")
"""What pytest's FixtureLookupError holds: the argument, and the function that it took for a test."""


@dataclass(frozen=True)
class Ending:
    """How a run ended that did not end well."""

    kind: Kind
    place: Place
    """The innermost line of the project's own; `("", 0)` where no line of it was reached."""
    remedy: str

    @property
    def is_fault(self) -> bool:
        return self.kind is Kind.FAULT


@dataclass(frozen=True)
class Raised:
    """An error that ended something, as the process told it."""

    error: str
    """The name of its class."""
    message: str
    trace: Sequence[Place]
    by_statement: bool
    """Whether a statement of Python raised it, at the innermost place of `trace`; else the interpreter did, or compiled
    code."""
    causes: Sequence[Sequence[str]] = ()
    """Its classes, and those of each error that it was raised from."""


def classed(one: Raised, root: Path) -> Ending:
    """The ending that an error is, in a project that lies in `root`."""
    error, message, trace, raised = one.error, one.message, one.trace, one.by_statement
    own = [place for place in trace if Path(place[0]).is_relative_to(root) and not is_installed(place[0])]
    place = own[-1] if own else ("", 0)
    in_own_code = bool(own) and trace[-1] == place
    if error == "FixtureLookupError" and (asked := _NO_FIXTURE.match(message)):
        how = f"write a fixture `{asked[1]}`, or keep pytest from collecting `{asked[2]}`, if that is no test"
        return Ending(Kind.GUARD, place, how)
    if remedy := _lacking(one, root, refused=raised and in_own_code):
        return Ending(Kind.MACHINE, place, remedy)
    if raised and in_own_code:
        return Ending(Kind.REFUSAL, place, f"do what the {'message' if message else 'condition'} asks for")
    if error in FAULTS and own and (not raised or error in _NEVER_RAISED_BY_NAME):
        return Ending(Kind.FAULT, place, f"{_mend(error, message)} ({PurePath(place[0]).name}:{place[1]})")
    return Ending(Kind.GUARD, place, "look at what the line shown hands over")


def is_installed(path: str) -> bool:
    """Whether a file is of an installed package, or of Python itself."""
    return any(part in path for part in ("site-packages", "dist-packages", "/lib/python3")) or path.startswith("<")


def _lacking(one: Raised, root: Path, *, refused: bool) -> str:
    """What to do about what the machine lacks, where that is why; empty where it is not."""
    error, message = one.error, one.message
    if (missing := MISSING_MODULE.search(message)) and not is_of_the_project(missing[1], root):
        return f"install what has the module `{missing[1]}`"
    if not refused and (NO_DEVICE.search(message) or (error in FAULTS and _asks_a_device(one.trace))):
        return without_cuda(emulated=False)
    if _OUT_OF_MEMORY.search(message) or error in _NO_MEMORY:
        return "there is not enough memory here: let the run be smaller, or give it more"
    # What a program raises of its own accord is a refusal, unless it names what it comes from.
    met = {name for names in one.causes[refused:] for name in names} | ({error} if not refused else set())
    if error not in FAULTS and met & _NOT_REACHED:
        return f"provide what is missing here, a file or a connection: {message or error}"
    return ""


def _asks_a_device(trace: Sequence[Place]) -> bool:
    """Whether a function of torch for one kind of device met the error."""
    parts = PurePath(trace[-1][0]).parts if trace else ()
    return any(parts[at : at + 2] == ("torch", each) for at in range(len(parts)) for each in _DEVICES)


def _mend(error: str, message: str) -> str:
    if error == "KeyError":
        return f"store the key {message or 'that is read'}, or read one that is there"
    for pattern, words in _REMEDIES:
        if found := pattern.search(message):
            return words.format(*(f"`{found[0]}`" if words.startswith("{0}:") else each for each in found.groups()))
    return f"correct what raises {error}"
