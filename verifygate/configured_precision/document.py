"""Parse YAML, JSON and TOML into trees in which each value knows its line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from verifygate.base.records import record

MAX_DEPTH = 30
MAX_NODES = 20_000

Scalar = str | int | float | bool | None


class DocumentError(Exception):
    """The text is no document of its kind: the message says why in one line, `line` where, as far as it is known."""

    def __init__(self, problem: str, line: int = 1) -> None:
        super().__init__(problem)
        self.line = line


class SeveralDocumentsError(DocumentError):
    """The file holds several documents, where one is asked for."""


@record
class Item:
    """A value, and the line on which its key stands."""

    line: int
    value: Scalar | dict[str, Item] | list[Item]
    text: str = ""
    """As it is written, where it is a scalar."""
    path: str = ""
    """The file that it is from, where a document is put together from several."""

    def get(self, key: str) -> Item | None:
        return self.value.get(key) if isinstance(self.value, dict) else None

    @property
    def table(self) -> dict[str, Item]:
        return self.value if isinstance(self.value, dict) else {}

    @property
    def is_scalar(self) -> bool:
        return not isinstance(self.value, dict | list)

    def tables(self) -> Iterator[tuple[tuple[str, ...], Item]]:
        """Every table in it, itself first, with the keys that lead there; what has several names, under the first."""
        seen: set[int] = set()
        stack: list[tuple[tuple[str, ...], Item]] = [((), self)]
        while stack:
            keys, item = stack.pop()
            if id(item) in seen or item.is_scalar:
                continue
            seen.add(id(item))
            if isinstance(item.value, dict):
                yield keys, item
                stack += [((*keys, key), each) for key, each in reversed(item.value.items())]
            elif isinstance(item.value, list):
                stack += [(keys, each) for each in reversed(item.value)]


def placed(item: Item, path: str, keys: tuple[str, ...] = ()) -> Item:
    """A document below these keys, in which each value knows the file that it is from."""
    known: dict[int, Item] = {}

    def of(each: Item) -> Item:
        if id(each) not in known:
            value = each.value
            if isinstance(value, dict):
                value = {key: of(inner) for key, inner in value.items()}
            known[id(each)] = Item(each.line, value, each.text, path)
        return known[id(each)]

    made = of(item)
    for key in reversed(keys):
        made = Item(item.line, {key: made}, path=path)
    return made


def merged(below: Item, above: Item) -> Item:
    """Two documents as one: of a key that both set, tables are merged, and of anything else the second decides."""
    known: dict[tuple[int, int], Item] = {}

    def of(first: Item, second: Item) -> Item:
        if not isinstance(first.value, dict) or not isinstance(second.value, dict):
            return second
        if (id(first), id(second)) not in known:
            value = first.value | second.value
            for key in first.value.keys() & second.value.keys():
                value[key] = of(first.value[key], second.value[key])
            known[id(first), id(second)] = Item(second.line, value, second.text, second.path)
        return known[id(first), id(second)]

    return of(below, above)


def parse(text: str, suffix: str, *, alone: bool = False) -> Item:
    """The document in a file with this suffix, the first where there are several.

    Raises DocumentError, also for several where the document has to be `alone` in its file.
    """
    if suffix == ".toml":
        return _toml(text)
    return _yaml(text.replace("\t", " ") if suffix == ".json" else text, alone=alone)


def _yaml(text: str, *, alone: bool) -> Item:
    """YAML, and JSON, which is YAML but for its tabs."""
    import yaml  # only for a project with such a file

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        depth = documents = 0
        for nodes, event in enumerate(yaml.parse(text, Loader=loader)):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            documents += isinstance(event, yaml.DocumentStartEvent)
            if alone and documents > 1:
                mark = event.start_mark
                raise SeveralDocumentsError("it holds several documents", mark.line + 1 if mark is not None else 1)
            if depth > MAX_DEPTH or nodes > MAX_NODES:
                raise DocumentError("it is too large, or too deep")
        root = next(iter(yaml.compose_all(text, Loader=loader)), None)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        problem = " ".join(str(getattr(error, "problem", None) or error).split())[:120]
        raise DocumentError(problem, mark.line + 1 if mark is not None else 1) from None
    return _of_node(root, {}) if root is not None else Item(1, None)


def _of_node(node: Any, known: dict[int, Item | None]) -> Item:
    """The tree of a node. One that an alias names again is the same item: `known` has it, or None while it is made."""
    if id(node) in known:
        item = known[id(node)]
        if item is None:
            raise DocumentError("a value holds itself")
        return item
    known[id(node)] = None
    line = node.start_mark.line + 1
    if node.id == "mapping":
        made = Item(line, _table(node, known))
    elif node.id == "sequence":
        made = Item(line, [_of_node(each, known) for each in node.value])
    else:
        made = Item(line, _scalar(node.tag.rpartition(":")[2], node.value), node.value)
    known[id(node)] = made
    return made


def _table(node: Any, known: dict[int, Item | None]) -> dict[str, Item]:
    """Keys and values; what `<<` merges in gives way to what is written out."""
    merged: dict[str, Item] = {}
    own: dict[str, Item] = {}
    for key, value in node.value:
        if key.id != "scalar":
            continue
        item = _of_node(value, known)
        if key.value == "<<":
            for each in reversed(item.value) if isinstance(item.value, list) else [item]:
                merged |= each.table  # of several, the first has precedence
        else:
            own[key.value] = Item(key.start_mark.line + 1, item.value, item.text)
    return merged | own


def _scalar(kind: str, text: str) -> Scalar:
    try:
        match kind:
            case "null":
                return None
            case "bool":
                return text.lower() in ("true", "yes", "on")
            case "int":
                return int(text.replace("_", ""), 0)
            case "float":
                return float(text.replace("_", ""))
    except ValueError:
        pass  # octal, sexagesimal, `.inf`: no precision is written so
    return text


def _toml(text: str) -> Item:
    import tomllib

    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        at = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", str(error))
        line = int(at[1] or text.count("\n") + 1) if at is not None else 1
        problem = str(error)[: at.start()] if at is not None else str(error)
        raise DocumentError(" ".join(problem.split())[:120], line) from None
    return _of_value(data, (), _toml_lines(text), 1)


def _of_value(value: Any, keys: tuple[str, ...], lines: dict[tuple[str, ...], int], around: int) -> Item:
    line = lines.get(keys, around)
    if isinstance(value, dict):
        return Item(line, {str(key): _of_value(each, (*keys, str(key)), lines, line) for key, each in value.items()})
    if isinstance(value, list):
        return Item(line, [_of_value(each, keys, lines, line) for each in value])
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return Item(line, value if isinstance(value, str | int | float | bool) else text, text)


def _toml_lines(text: str) -> dict[tuple[str, ...], int]:
    """The line of each key that stands at the beginning of one, and of each table."""
    found: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[\[?([^\[\]]+)\]\]?\s*(?:#.*)?$", line):
            table = _keys(header[1])
            found.setdefault(table, number)
        elif pair := re.match(r"\s*([\w.\"'-]+)\s*=", line):
            found.setdefault((*table, *_keys(pair[1])), number)
    return found


def _keys(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))
