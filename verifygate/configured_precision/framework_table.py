"""What a version of a framework makes of its configuration: tables of rows, and the one engine that reads them.

A row says one cell; of those of a cell, the first whose `when` holds decides. `when` asks keys of the file
(`model._component_`), of a file that it names (`deepspeed:bf16.enabled`), other cells (`$trained`), and keys by the
name that a table gives them (`@optim`). A pattern is a word with `*`, several of them with `|`, a negation with `!`, or
the largest number that it may be (`<=1e-4`); the empty text is a key that is absent or null. `{name}` in a value is
another cell; a value without text leaves the cell out. A row with a `rule` is a fault that this rule reports, with the
row's value or gap as message. `launched:` are words of the command line that the table's patterns name, `server:`
options of the one that starts the engine which samples.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from verifygate.base.records import record
from verifygate.configured_precision.document import Item
from verifygate.configured_precision.hydra import NotComposed

FOLDER = "frameworks"
_FILE = r"(?P<file>[^\s\"'`;&|=]+\.(?:ya?ml|json|toml)|\$\{?[\w@]+\}?(?!\S))"
_STEM = r"(?P<file>[^\s\"'`;&|=$]+|\$\{?[\w@]+\}?(?!\S))"
_FILE_NAME = re.compile(r"\.(?:ya?ml|json|toml)$")
_CELL = re.compile(r"\{(\w+)\}")
_REFERENCE = re.compile(r"\$\{([\w.]+)\}")
_MAX_REFERENCES = 5


class Row(NamedTuple):
    """One row of a table: what decides a cell, and where the framework's source says so."""

    cell: str
    when: Mapping[str, str]
    value: str | None
    gap: str
    """Why the value is not known, in place of one."""
    by: str
    """The key whose place is that of the cell, or several with `|`, of which the first that is set counts; else that of
    the first of `when` that the file sets."""
    read: str
    rule: str
    """The code of the rule that what it says breaks, or nothing."""
    is_likely: bool
    """Whether that depends on what no file says."""


class Framework(NamedTuple):
    """A table: whose configuration it reads, in which version, and its rows, those that it shares last."""

    name: str
    version: str
    sure: tuple[tuple[str, ...], ...]
    """Of each of these groups a file beyond doubt has a key; none: a launch line has to name the file."""
    has: tuple[tuple[str, ...], ...]
    """Of each of these groups a file has a key that a launch line names, where that line may be another program's."""
    launch: tuple[str, ...]
    """Patterns of the command lines that hand it a file, the group `file`, without suffix for Hydra; another group is
    the key `launched:NAME`."""
    owns_line: bool
    """Whether a line that the first of them matches is of this framework beyond doubt, whatever the file holds."""
    more: str
    """Pattern of a further file on such a line, which overrides those before it; empty where there is one only."""
    ships: tuple[str, ...]
    """What a defaults list may name that comes with it, and says no more than `defaults`."""
    alone: tuple[str, ...]
    """Patterns of the command lines that train by what they set, without a file."""
    servers: tuple[str, ...]
    """Patterns of the command lines that start the engine which samples, for a file or for the model `--model`."""
    model: str
    """The key that names the model."""
    writes: str
    """The key that names where it saves."""
    reads: tuple[str, ...]
    """Keys that may name what another run saved."""
    links: Mapping[str, str]
    """A key that names another file, or holds its table -> what rows call that file."""
    names: Mapping[str, str]
    """What a shared row calls `@name` -> the key."""
    off: Mapping[str, Mapping[str, str]]
    """A key -> the values of others with which it has no effect."""
    defaults: Mapping[str, str]
    only: Mapping[str, tuple[str, ...]]
    """A value of the cell `mode` -> the cells that there are then."""
    rows: tuple[Row, ...]
    shares: tuple[str, ...]
    """The tables whose rows follow its own."""
    is_judged: bool
    """Whether the configuration rules know its keys."""

    @property
    def keys(self) -> frozenset[str]:
        """The keys of the file that rows ask."""
        asked = {self.names.get(key[1:], key) if key.startswith("@") else key for row in self.rows for key in row.when}
        return frozenset(key for key in asked if ":" not in key and not key.startswith("$"))

    @property
    def rules(self) -> frozenset[str]:
        """The codes of the rules that rows know broken."""
        return frozenset(row.rule for row in self.rows if row.rule)

    def has_no_effect(self, key: str, document: Item) -> bool:
        """Whether a key of such a file has no effect, for what the file says beside it."""
        when = self.off.get(key)
        return when is not None and all(matches(text_of(at(document, each)), text) for each, text in when.items())

    def may_own(self, data: bytes) -> bool:
        """Whether the bytes of a file hold the names of such keys."""
        groups = [[key.partition("=")[0].rpartition(".")[2].encode() for key in group] for group in self.sure]
        return bool(groups) and all(any(key in data for key in group) for group in groups)

    @property
    def title(self) -> str:
        return f"{self.name} {self.version}"

    def owns(self, document: Item) -> bool:
        """Whether a document is of this framework beyond doubt."""
        return bool(self.sure) and _has(document, self.sure)

    def takes(self, document: Item) -> bool:
        """Whether a document that a launch line names can be of this framework."""
        return _has(document, self.has)


@record(kw_only=True)
class Cell:
    """One cell: a value, or why there is none, and what decides it."""

    name: str
    value: str = ""
    gap: str = ""
    path: str
    line: int
    said: str = ""
    """The key as it is written; empty where the file does not set it."""
    default: str = ""
    """The key that is left at its default, or empty."""
    read: str = ""
    rule: str = ""
    """The code of the rule that it breaks, or empty."""
    is_likely: bool = False


class Known(NamedTuple):
    """The value of a key: what is written, where, and whether anything is."""

    text: str
    path: str
    line: int
    key: str
    said: str = ""
    """The key and value as written; empty where the file does not set it."""
    is_text: bool = False
    """Whether a word for a boolean is written as text: what counts as true is then up to the framework."""
    is_given: bool = False
    """Whether a command line sets it."""

    @property
    def is_set(self) -> bool:
        return bool(self.said)


@cache
def frameworks() -> tuple[Framework, ...]:
    """Every framework whose configuration is a program."""
    folder = resources.files(__package__) / FOLDER
    tables = {
        each.name.removesuffix(".toml"): tomllib.loads(each.read_text("utf-8"))
        for each in sorted(folder.iterdir(), key=lambda each: each.name)
        if each.name.endswith(".toml")
    }
    return tuple(_framework(each, tables) for each in tables.values() if "launch" in each)


def _framework(table: Mapping[str, Any], tables: Mapping[str, Mapping[str, Any]]) -> Framework:
    shared = [tables[each] for each in table.get("shares", ())]
    return Framework(
        name=table["name"],
        version=table["version"],
        sure=tuple(tuple(group.split("|")) for group in table.get("sure", ())),
        has=tuple(tuple(group.split("|")) for group in table.get("has", ())),
        launch=tuple(each.replace("<file>", _FILE).replace("<stem>", _STEM) for each in table["launch"]),
        owns_line=table.get("owns_line", "has" not in table),
        more=table.get("more", "").replace("<file>", _FILE),
        ships=tuple(table.get("ships", ())),
        alone=tuple(table.get("alone", ())),
        servers=tuple(each.replace("<file>", _FILE) for each in table.get("servers", ())),
        model=table.get("model", ""),
        writes=table.get("writes", ""),
        reads=tuple(table.get("reads", ())),
        links=table.get("links", {}),
        names=table.get("names", {}),
        off=table.get("off", {}),
        defaults={key: text for each in (*shared, table) for key, text in each.get("defaults", {}).items()},
        only={mode: tuple(cells) for mode, cells in table.get("only", {}).items()},
        rows=tuple(
            _row(cell, each, source)
            for source in (table, *shared)
            for cell, rows in source["cells"].items()
            for each in rows
        ),
        shares=tuple(table.get("shares", ())),
        is_judged=table.get(
            "is_judged",
            any("rule" in each for one in (table, *shared) for rows in one["cells"].values() for each in rows),
        ),
    )


def _has(document: Item, groups: tuple[tuple[str, ...], ...]) -> bool:
    return all(any(_is_there(document, key) for key in group) for group in groups)


def _row(cell: str, row: Mapping[str, Any], source: Mapping[str, Any]) -> Row:
    read = f"{source['name']} {source['version']}, {row.get('read', source['read'])}"
    return Row(
        cell, row.get("when", {}), row.get("value"), row.get("gap", ""), row.get("by", ""), read,
        row.get("rule", ""), row.get("likely", False),
    )  # fmt: skip


def _is_there(document: Item, key: str) -> bool:
    """Whether a document has a key; `key=text` asks that its value begins so."""
    key, _, start = key.partition("=")
    item = at(document, key)
    return item is not None and item.value is not None and item.text.startswith(start)


def at(document: Item | None, key: str) -> Item | None:
    """The value at a key such as `trainer.precision`; None where there is none."""
    item = document
    for part in key.split("."):
        item = item.get(part) if item is not None else None
    return item


def _open_above(document: Item | None, key: str) -> Item | None:
    """What stands in place of a table that would have a key, and is decided when the program starts."""
    *above, _ = key.split(".")
    tables = (at(document, ".".join(above[:n])) for n in range(1, len(above) + 1))
    return next((each for each in tables if each is not None and ("$" in each.text or each.text == "???")), None)


def text_of(item: Item | None) -> str:
    """A value as patterns read it: `true`, `2`, `a,b`; empty for null, and `{}` for a table with something in it.

    Of an object that a list holds, it is the class: `{lightning.pytorch.plugins.MixedPrecision}`. What a list nests is
    not looked into: aliases may make it larger than any memory.
    """
    if item is None or item.value is None:
        return ""
    if isinstance(item.value, bool):
        return str(item.value).lower()
    if isinstance(item.value, list):
        return ",".join(text_of(each) if each.is_scalar else f"{{{_class_of(each)}}}" for each in item.value)
    if isinstance(item.value, dict):
        return "{}" if item.value else ""
    return item.text.strip()


def _class_of(item: Item) -> str:
    """The class that LightningCLI or Hydra makes an object of from a table, or nothing."""
    named = item.get("class_path") or item.get("_target_")
    return named.text if named is not None else ""


class Evaluation:
    """The cells of one configuration under one table.

    `documents` are `(path, document)` by name: the file itself under the empty one, those that it names under what rows
    call them. `given` is what a command line sets beside it: `key -> (text, path, line)`. `unread` says of a file that
    is named and there why it is none of the documents. `holes` are the parts of a composition that are not known.
    """

    def __init__(
        self,
        framework: Framework,
        documents: Mapping[str, tuple[str, Item]],
        given: Mapping[str, tuple[str, str, int]],
        unread: Mapping[str, str],
        holes: Sequence[NotComposed] = (),
    ) -> None:
        self._framework = framework
        self._holes = holes
        self._unread = unread
        self._documents = documents
        self._given = given
        self._cells: dict[str, Cell] = {}

    def cells(self) -> dict[str, Cell]:
        """Every cell that a row, or the absence of one, says something of, by name."""
        names = dict.fromkeys(row.cell for row in self._framework.rows)
        only = self._framework.only.get(self._cell("mode").value) if self._framework.only else None
        found = {name: self._cell(name) for name in (names if only is None else only)}
        return {name: cell for name, cell in found.items() if cell.value or cell.gap}

    def text(self, key: str) -> str:
        """The value of a key, as rows see it; empty where it is decided when the program starts."""
        known = self._known(key)
        return "" if not key or self._open(key, known) is not None else known.text

    def _cell(self, name: str) -> Cell:
        """One cell, worked out when something asks for it: a table has no circles."""
        if name not in self._cells:
            self._cells[name] = self._decided(name)
        return self._cells[name]

    def _decided(self, name: str) -> Cell:
        asked: list[Known] = []
        for row in self._framework.rows:
            if row.cell != name:
                continue
            holds = True
            for key, pattern in row.when.items():
                known = self._known(key)
                asked.append(known)
                if (open_yet := self._open(key, known)) is not None:
                    return self._made(name, open_yet[1], gap=open_yet[0], read=row.read)
                if not matches(known.text, pattern):
                    holds = False
                    break
            if holds:
                return self._of_row(row, asked)
        gap = f"{self._framework.title} with this combination is not followed"
        return self._made(name, next((each for each in asked if each.is_set), self._nothing("")), gap=gap)

    def _of_row(self, row: Row, asked: list[Known]) -> Cell:
        """The cell as a row says it, at the place of the key that decides."""
        ours = [self._known(key) for key in (row.by.split("|") if row.by else row.when)]
        named = [self._known(f"${each}") for each in _CELL.findall(row.value or "")]
        deciding = [each for each in (ours if row.by else named + ours) if each.key or each.is_set] or asked
        place = next((each for each in deciding if each.is_set), deciding[0] if deciding else self._nothing(""))
        if row.value is None:
            return self._made(row.cell, place, row, gap=row.gap, read=row.read)
        for each in _CELL.findall(row.value):
            if (other := self._cell(each)).gap:
                return self._made(row.cell, self._known(f"${each}"), gap=other.gap, read=other.read)
        value = _CELL.sub(lambda hit: self._cell(hit[1]).value, row.value)
        return self._made(row.cell, place, row, value=value, read=row.read)

    def _made(
        self, name: str, place: Known, row: Row | None = None, *, value: str = "", gap: str = "", read: str = ""
    ) -> Cell:
        return Cell(
            name=name, value=value, gap=gap, path=place.path, line=place.line, said=place.said,
            default="" if place.is_set else place.key, read=read,
            rule=row.rule if row is not None else "", is_likely=row is not None and row.is_likely,
        )  # fmt: skip

    def _open(self, key: str, known: Known) -> tuple[str, Known] | None:
        """Why a value is not known before the program starts, and what says so; None where it is."""
        if key.startswith("$"):
            gap = self._cell(key[1:]).gap
            return (gap, known) if gap else None
        link, colon, _ = key.rpartition(":")
        for naming, name in self._framework.links.items() if colon and link not in self._documents else ():
            if name == link and (file := self._known(naming)).is_set and _FILE_NAME.search(file.text):
                return f"`{file.said}`: {self._unread.get(link, 'that file is not here')}", file
        if colon and link not in self._documents and link in self._unread and key not in self._given:
            return self._unread[link], known
        if not colon and not known.is_given and (hole := self._hole(key)) is not None:
            return hole.reason, Known("", hole.path, hole.line, key, hole.entry)
        if known.is_text:
            return f"`{known.key}` is the text `{known.text}`, and no boolean", known
        is_open = "$" in known.text or "{{" in known.text or known.text == "???"
        return (f"`{known.key}: {known.text}` is decided when the program starts", known) if is_open else None

    def _hole(self, key: str) -> NotComposed | None:
        """The part of the composition that is not known and may set a key."""
        key = self._framework.names[key[1:]] if key.startswith("@") else key
        keys = tuple(key.split("."))
        return next((each for each in self._holes if each.group == keys[: len(each.group)]), None)

    def _known(self, key: str) -> Known:
        if key.startswith("@"):
            key = self._framework.names[key[1:]]
        if key.startswith("$"):
            cell = self._cell(key[1:])
            return Known(cell.value, cell.path, cell.line, cell.default, cell.said)
        if key in self._given:
            text, path, line = self._given[key]
            shown = key.removeprefix("server:").removeprefix("launched:")
            return Known(text, path, line, key, f"{shown}: {text}", is_given=True)
        link, colon, inner = key.rpartition(":")
        path, document = self._documents.get(link, ("", None))
        if (item := at(document, inner) or _open_above(document, inner)) is not None:
            for _ in range(_MAX_REFERENCES):
                reference = _REFERENCE.fullmatch(text_of(item))
                item = (at(document, reference[1]) if reference else None) or item
            text = text_of(item)
            is_text = isinstance(item.value, str) and text.lower() == "false"
            return Known(text, item.path or path, item.line, inner, f"{inner}: {text or 'null'}", is_text)
        nothing = self._nothing(key)
        return nothing._replace(path=path or nothing.path, key=inner if colon and path else nothing.key)

    def _nothing(self, key: str) -> Known:
        path, document = self._documents[""]
        line = 1 if document.table else document.line  # a command line without a file is all that there is
        return Known(self._framework.defaults.get(key, ""), path, line, key)


def matches(text: str, pattern: str) -> bool:
    """Whether a value is what a row asks for."""
    if pattern.startswith("!"):
        return not matches(text, pattern[1:])
    word = text.lower()
    return any(_is(word, each) for each in pattern.lower().split("|"))


def _is(word: str, asked: str) -> bool:
    if asked.startswith("<="):
        try:
            return float(word) <= float(asked[2:])
        except ValueError:
            return False
    return fnmatchcase(word, asked) if "*" in asked else word == asked
