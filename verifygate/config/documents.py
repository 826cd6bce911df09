"""Read TOML and YAML that people write: nothing is guessed, and every complaint names file, line and remedy."""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections.abc import Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from verifygate.base.errors import UsageError
from verifygate.base.regular_files import TooLargeError, read_regular

if TYPE_CHECKING:
    import yaml

M = TypeVar("M", bound=BaseModel)
Where = tuple[str | int, ...]
MAX_BYTES = 2 * 1024 * 1024
MAX_DEPTH = 50


@dataclass(frozen=True)
class Document:
    """Parsed data, and the line on which each key or list item of it stands."""

    path: str
    data: dict[str, Any]
    lines: dict[Where, int] = field(default_factory=dict)

    def place(self, where: Where) -> str:
        """`path:line` of a key, or of the nearest thing around it whose line is known."""
        for end in range(len(where), -1, -1):
            if line := self.lines.get(where[:end]):
                return f"{self.path}:{line}"
        return self.path

    def below(self, *where: str) -> Document:
        """The table at `where` as a document of its own; an empty one where there is none."""
        data: Any = self.data
        for key in where:
            data = data.get(key, {}) if isinstance(data, dict) else {}
        size = len(where)
        return Document(self.path, data, {key[size:]: line for key, line in self.lines.items() if key[:size] == where})

    def validate(self, model: type[M]) -> M:
        """Check the data against `model`. Raises UsageError for the first thing that is wrong."""
        try:
            return model.model_validate_json(json.dumps(self.data, default=str), strict=True)
        except ValidationError as error:
            raise self._complaint(model, error) from None

    def _complaint(self, model: type[BaseModel], error: ValidationError) -> UsageError:
        first = error.errors(include_url=False)[0]
        where = tuple(part for part in first["loc"] if not str(part).startswith("function-"))
        name, value, kind = ".".join(str(part) for part in where), first["input"], first["type"]
        if kind == "extra_forbidden":
            near = difflib.get_close_matches(str(where[-1]), _keys_at(model, where[:-1]), n=1, cutoff=0.5)
            return UsageError(
                f"unknown key `{name}`",
                where=self.place(where),
                remedy=f"did you mean `{near[0]}`?"
                if near
                else "remove it, or look it up with `verifygate docs config`",
            )
        if kind in ("float_type", "int_type", "float_parsing", "int_parsing") and isinstance(value, str):
            return UsageError(
                f"`{name}` is the text {value!r}, not a number", where=self.place(where), remedy=_number_hint(value)
            )
        if kind == "missing":
            return UsageError(f"`{name}` is missing", where=self.place(where), remedy="add it")
        message = first["msg"].removeprefix("Value error, ")
        return UsageError(f"`{name}`: {message}", where=self.place(where), remedy=_remedy(kind, value, first))


def read_toml(path: Path, shown: str) -> Document:
    """Read a TOML file. Raises UsageError with the line at fault."""
    text = _read(path, shown)
    try:
        data = tomllib.loads(text)
    except RecursionError:
        raise UsageError("nested too deeply", where=shown, remedy="flatten it") from None
    except ValueError as error:  # a number of thousands of digits is no TOMLDecodeError
        at = re.search(r"\(at line (\d+), column \d+\)", str(error))
        line = int(at[1]) if at else text.count("\n") + 1
        problem = str(error).split(" (at ")[0]
        raise UsageError(f"not valid TOML: {problem}", where=f"{shown}:{line}", remedy="correct this line") from None
    return Document(shown, data, _toml_lines(text))


def read_yaml(path: Path, shown: str) -> Document:
    """Read a YAML file; duplicate keys, anchors and tags are refused. Raises UsageError with the line at fault."""
    import yaml

    # libyaml's where it is there: it reads a file of ten thousand requirements in a second, not in a minute
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    text = _read(path, shown)
    lines: dict[Where, int] = {}
    try:
        depth = 0
        for event in yaml.parse(text, Loader=loader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_DEPTH:
                raise UsageError(f"nested deeper than {MAX_DEPTH} levels", where=shown, remedy="flatten it")
            if getattr(event, "anchor", None) is not None:
                raise UsageError(
                    "anchors and aliases are not allowed",
                    where=f"{shown}:{event.start_mark.line + 1}",  # type: ignore[union-attr]
                    remedy="write the value out",
                )
        node = yaml.compose(text, Loader=loader)
        data = _construct(node, (), lines, shown, yaml.SafeLoader("")) if node is not None else {}
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise UsageError(
            f"not valid YAML: {error.problem or error.context}",
            where=f"{shown}:{mark.line + 1}" if mark else shown,
            remedy="correct this line",
        ) from None
    except yaml.YAMLError as error:
        raise UsageError(f"not valid YAML: {error}", where=shown, remedy="save it as UTF-8 text") from None
    except RecursionError:
        raise UsageError("nested too deeply", where=shown, remedy="flatten it") from None
    if not isinstance(data, dict):
        raise UsageError("must have keys and values at the top", where=f"{shown}:1", remedy="write `key: value` lines")
    return Document(shown, data, lines)


def _read(path: Path, shown: str) -> str:
    try:
        if not path.is_file():
            raise UsageError("no such file" if not path.exists() else "not a file", where=shown, remedy="give a file")
        data = read_regular(path, MAX_BYTES)
        return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except TooLargeError:
        raise UsageError("larger than 2 MiB", where=shown, remedy="this cannot be a configuration") from None
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=shown, remedy="check its permissions") from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise UsageError("not UTF-8 text", where=f"{shown}:{line}", remedy="save it as UTF-8") from None


def _construct(node: yaml.Node, where: Where, lines: dict[Where, int], shown: str, loader: yaml.SafeLoader) -> Any:
    """Turn a YAML node into plain data, noting the line of everything in it."""
    import yaml

    lines.setdefault(where, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        return _mapping(node, where, lines, shown, loader)
    if isinstance(node, yaml.SequenceNode):
        return [_construct(child, (*where, index), lines, shown, loader) for index, child in enumerate(node.value)]
    return _scalar(node, shown, loader)


def _scalar(node: yaml.Node, shown: str, loader: yaml.SafeLoader) -> Any:
    """The value of a word; one that looks like a date, or is tagged as one, and is none, is refused."""
    try:
        return loader.construct_object(node)
    except (ValueError, TypeError, AttributeError, LookupError, OverflowError):  # whatever the conversion raises
        kind = node.tag.rpartition(":")[2]
        raise UsageError(
            f"{_short(node.value)} is no value of the type {kind}",
            where=f"{shown}:{node.start_mark.line + 1}",
            remedy="put it in quotes if it is text, or correct it",
        ) from None


def _mapping(
    node: yaml.MappingNode, where: Where, lines: dict[Where, int], shown: str, loader: yaml.SafeLoader
) -> dict[Any, Any]:
    result: dict[Any, Any] = {}
    for key_node, value_node in node.value:
        key = _scalar(key_node, shown, loader)
        place = f"{shown}:{key_node.start_mark.line + 1}"
        if not isinstance(key, Hashable) or not isinstance(key, str):
            raise UsageError(f"the key {_short(key)} is not text", where=place, remedy="put it in quotes")
        if key in result:
            first = lines[(*where, key)]
            raise UsageError(f"the key `{key}` occurs twice, first on line {first}", where=place, remedy="keep one")
        lines[(*where, key)] = key_node.start_mark.line + 1
        result[key] = _construct(value_node, (*where, key), lines, shown, loader)
    return result


_BASIC, _LITERAL = r'"(?:\\.|[^"\\\n])*"', r"'[^'\n]*'"
_OPAQUE = re.compile(rf'"""(?:\\.|[^\\])*?"""+|\'\'\'.*?\'\'\'+|#[^\n]*|({_BASIC}|{_LITERAL})', re.DOTALL)
"""Strings and comments. The strings of one line are captured: they may be keys."""
_PART = rf"(?:{_BASIC}|{_LITERAL}|[A-Za-z0-9_-]+)"
_DOTTED = rf"({_PART}(?:[ \t]*\.[ \t]*{_PART})*)"
_TABLE = re.compile(rf"[ \t]*(\[\[?)[ \t]*{_DOTTED}[ \t]*\]\]?[ \t]*$")
_KEY = re.compile(rf"[ \t]*{_DOTTED}[ \t]*=")


def _toml_lines(text: str) -> dict[Where, int]:
    """The line of every table and key of valid TOML, those inside inline tables excepted. tomllib keeps none."""
    keys = _OPAQUE.sub(lambda found: found[1] or "\n" * found[0].count("\n"), text).split("\n")
    brackets = _OPAQUE.sub(lambda found: "\n" * found[0].count("\n"), text).split("\n")
    lines: dict[Where, int] = {}
    implied: dict[Where, int] = {}
    """`[a.b]` makes a table `a` as well, which may have no line of its own."""
    table: Where = ()
    counts: dict[Where, int] = {}
    depth = 0
    for number, (line, bare) in enumerate(zip(keys, brackets, strict=True), 1):
        at_statement = depth == 0  # else the line is inside an array of several lines
        depth += sum(bare.count(each) for each in "[{") - sum(bare.count(each) for each in "]}")
        if not at_statement:
            continue
        if header := _TABLE.match(line):
            *around, last = _dotted(header[2])
            table = ()
            for part in around:  # what lies below the last table of an array belongs to that table
                table = (*table, part)
                implied.setdefault(table, number)
                table = (*table, counts[table]) if table in counts else table
            table = (*table, last)
            if header[1] == "[[":
                lines.setdefault(table, number)
                index = counts[table] = counts.get(table, -1) + 1
                table = (*table, index)
            lines.setdefault(table, number)
        elif key := _KEY.match(line):
            parts = _dotted(key[1])
            for end in range(1, len(parts) + 1):
                lines.setdefault((*table, *parts[:end]), number)
    return implied | lines


def _dotted(text: str) -> tuple[str, ...]:
    """The parts of a dotted key, by the parser itself: `a."b.c"` is `a` and `b.c`."""
    parts: list[str] = []
    data: Any = tomllib.loads(f"{text} = 0")
    while isinstance(data, dict):
        ((part, data),) = data.items()
        parts.append(part)
    return tuple(parts)


def _keys_at(model: type[BaseModel], where: Where) -> list[str]:
    """The keys that the model allows at `where`."""
    current: Any = model
    for part in where:
        if isinstance(part, int):
            continue
        fields = getattr(current, "model_fields", {})
        if part not in fields:
            return []
        current = _model_in(fields[part].annotation)
    fields = getattr(current, "model_fields", {})
    return [field.alias or name for name, field in fields.items()]


def _model_in(annotation: Any) -> Any:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = (_model_in(inner) for inner in getattr(annotation, "__args__", ()))
    return next((model for model in found if model is not None), None)


def _remedy(kind: str, value: object, error: ErrorDetails) -> str:
    """What to write instead, in the words of the file and never in Python's."""
    if kind == "value_error":  # the message of our own validator says what is expected
        return "correct it"
    if kind == "string_type":
        return f'write it in quotes: "{value}"' if isinstance(value, int | float) else "write one text in quotes"
    if kind in ("list_type", "tuple_type"):
        return f"write it in brackets: [{_short(value)}]" if isinstance(value, str) else "write a list in brackets"
    if kind == "bool_type":
        return "write true or false, without quotes"
    if kind.startswith("date"):
        return "write a day as 2027-03-31, without quotes in TOML"
    if kind == "enum":
        known = re.findall(r"'(\w+)'", str(error["msg"]))
        if near := difflib.get_close_matches(str(value), known, n=1, cutoff=0.5):
            return f"did you mean `{near[0]}`?"
    return f"it is {_short(value)} now"


def _number_hint(text: str) -> str:
    stripped = text.strip()
    try:
        if stripped.endswith("%"):
            return f"write {float(stripped[:-1]) / 100:g} without quotes"
        return f"write {float(stripped):.12g} without quotes"
    except ValueError:
        return "write a number without quotes"


def _short(value: object) -> str:
    """The value as a file would have it; what is long or nested is only named."""
    if isinstance(value, dict | list):
        return "a table" if isinstance(value, dict) else "a list"
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."
