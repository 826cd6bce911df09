"""An option of a command line, as the program declares it; every reader of declarations makes these."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

NOT_KNOWN = object()
"""A default that no literal gives: what it is, nothing is said about."""
_LISTED = re.compile(r"(?:choices?|one of|options?)?[:\s]*\[?((?:[\w.+-]+\s*\|\s*)+[\w.+-]+)\]?", re.IGNORECASE)
"""A help text that lists the words allowed: `cifar10 | lsun | fake`."""


class Takes(StrEnum):
    """What follows an option on the command line."""

    VALUE = "a value"
    NOTHING = "nothing: it switches on"
    SWITCHES_OFF = "nothing: it switches off"
    MANY = "any number of values"


@dataclass(frozen=True)
class Option:
    """One option, or a positional argument where it has no flags."""

    name: str
    """As the program reads it: `batch_size`."""
    flags: tuple[str, ...]
    path: str
    line: int
    takes: Takes = Takes.VALUE
    kind: str = ""
    """The last name of its type, such as `int`; empty where none is declared."""
    choices: tuple[str, ...] = ()
    default: Any = None
    required: bool = False
    values: int = 1
    """How many values belong to it."""
    joined: bool = False
    """Whether its value is joined to it: `--epochs=1` as absl writes it, `trainer.max_epochs=1` as Hydra does."""
    behind: str | None = None
    """Of a setting among the words of another option, `SOLVER.MAX_ITER 20`: that option's flag, empty for none."""
    shown: str = ""
    """What a value is called in its help: `PATH`."""

    @property
    def flag(self) -> str:
        """The long flag, where there is one; empty for a positional argument."""
        return next((each for each in self.flags if each.startswith("--")), self.flags[0] if self.flags else "")

    @property
    def asked(self) -> str:
        """How a person is told of it: `--data PATH`, or `DATA`."""
        value = self.shown or self.name.upper()
        if not self.flags or self.takes is not Takes.VALUE:
            return self.flag or value
        return f"{self.flag}{'=' if self.joined else ' '}{value}"

    def written(self, *values: str) -> list[str]:
        """The words of the command line that set it."""
        if not self.flags:
            return list(values)
        return [f"{self.flag}={' '.join(values)}"] if self.joined and values else [self.flag, *values]


_GENERAL = frozenset("path root dir folder file name size enabled enable".split())  # noqa: SIM905


def setting_name(dotted: str) -> str:
    """What a key of a configuration is about: `max_epochs` of `trainer.max_epochs`, `data_path` of `data.path`."""
    *above, last = dotted.split(".")
    return f"{above[-1]}_{last}" if above and last.lower() in _GENERAL else last


def literal(node: ast.expr | None) -> Any:
    """The value of a literal; None where there is no node, NOT_KNOWN for what is no literal."""
    if node is None:
        return None
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return NOT_KNOWN


def words_of(node: ast.expr | None) -> tuple[str, ...]:
    """The words of a literal list of choices; none where it is not literal."""
    found = literal(node)
    return tuple(map(str, found)) if isinstance(found, list | tuple | set | dict) else ()


def listed_in(text: object) -> tuple[str, ...]:
    """The words that a help text lists and nothing else: `cifar10 | lsun | fake`."""
    hit = _LISTED.fullmatch(text.strip()) if isinstance(text, str) else None
    return tuple(word.strip() for word in hit[1].split("|")) if hit else ()


def type_name(node: ast.expr | None) -> str:
    """The last name of a type: `int`, `Path`; of `int | None` and `Optional[int]`, `int`; `Literal` has its choices."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Constant(value=str(text)):
            return text
        case ast.BinOp(left=left, right=right):
            return type_name(right) if type_name(left) in ("", "None") else type_name(left)
        case ast.Subscript(value=outer, slice=inner) if type_name(outer) in ("Optional", "Annotated"):
            return type_name(inner.elts[0] if isinstance(inner, ast.Tuple) and inner.elts else inner)
        case ast.Subscript(value=outer):
            return type_name(outer)
        case ast.Lambda():
            return "lambda"
    return ""


def choices_of(annotation: ast.expr | None) -> tuple[str, ...]:
    """The words of `Literal["a", "b"]`, also where it stands in an `Optional` or an `Annotated`."""
    for node in ast.walk(annotation) if annotation is not None else ():
        if isinstance(node, ast.Subscript) and type_name(node.value) == "Literal":
            return words_of(node.slice if isinstance(node.slice, ast.Tuple) else ast.Tuple([node.slice], ast.Load()))
    return ()
