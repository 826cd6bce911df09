"""A prose report as sections, sentences, lists, tables and code blocks, each with its line.

markdown-it-py parses; here its tokens become what the extractors ask for. Markup is dropped, but for the backticks
around code: a path or a name in code is told from a word.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from verifygate.base.errors import UsageError
from verifygate.base.regular_files import TooLargeError, read_argument

MAX_BYTES = 4 * 1024 * 1024
CODE_SPAN = re.compile(r"`([^`\n]+)`")
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_LABEL = re.compile(
    r"^\W{0,4}(?P<label>[A-Za-z](?:\([^()\n]*\)|[^:`|()\n]){0,60}?)\s*(?::|\s[-–—])\s+(?P<value>\S[\s\S]*)$"
)
_ENDED_LABEL = re.compile(r"^\W{0,4}(?P<label>[A-Za-z](?:\([^()\n]*\)|[^:`|()\n]){0,60}?)\s*:$")
_KEY_LINE = re.compile(r"^\W{0,4}[A-Z][^:.\n]{0,40}:(?:\s|$)")
_STOP = re.compile(r"(?<=[.!?])[)\"'”]?\s+(?=[A-Z(\"'“`])")
_ABBREVIATED = re.compile(r"(?:\b(?:e\.g|i\.e|vs|approx|cf|etc|no|fig|ca)|^\W*\d+)\.$", re.IGNORECASE)
_SIGNS = re.compile(r"^[^\w`(<>≥≤~≈+\-]+")


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it; `level` 0 is the report before its first heading."""

    title: str
    level: int
    line: int
    parent: Section | None = None

    @property
    def path(self) -> tuple[Section, ...]:
        """From the outermost heading to this one."""
        return (*(self.parent.path if self.parent else ()), self)

    @property
    def titles(self) -> str:
        return " / ".join(section.title for section in self.path if section.title)

    def below(self, level: int) -> Section:
        """The heading of at most this level that this section belongs to."""
        return next((section for section in reversed(self.path) if section.level <= level), self.path[0])


@dataclass(frozen=True)
class Sentence:
    """A sentence, a heading, or the first words of a list item. `text` keeps line ends as `\\n`."""

    text: str
    line: int
    section: Section
    role: str
    """heading, item, text or row."""
    index: int
    """Its place in the report, from 0."""

    @cached_property
    def flat(self) -> str:
        """The text on one line, without leading signs."""
        return " ".join(self.text.split())

    @cached_property
    def prose(self) -> str:
        """The text on one line, with what is between backticks left out."""
        return " ".join(CODE_SPAN.sub(" ", self.text).split())

    @cached_property
    def codes(self) -> tuple[str, ...]:
        return tuple(span.strip() for span in CODE_SPAN.findall(self.text))

    @cached_property
    def label(self) -> str:
        """`Final Score` of `Final Score: 65/100`; empty where there is none. In lower case."""
        match = _LABEL.match(self.flat) or _ENDED_LABEL.match(self.flat)
        return match["label"].strip().lower() if match else ""

    @cached_property
    def value(self) -> str:
        """What follows the label; the whole text where there is no label."""
        match = _LABEL.match(self.flat)
        return match["value"].strip() if match else "" if self.label else self.flat

    def on(self, line: int) -> Sentence:
        """The same sentence, reported at another line."""
        return replace(self, line=line)

    def line_of(self, offset: int) -> int:
        return self.line + self.text.count("\n", 0, offset)


@dataclass(frozen=True)
class Items:
    """A list. Items of lists inside it belong to the items, not to it."""

    ordered: bool
    items: tuple[Sentence, ...]
    """The first sentence of each item."""
    section: Section
    depth: int
    before: Sentence | None
    """What stands directly above the list, in the same section."""


@dataclass(frozen=True)
class Table:
    header: tuple[str, ...]
    rows: tuple[Sentence, ...]
    cells: tuple[tuple[str, ...], ...]
    section: Section
    before: Sentence | None

    def column(self, pattern: str) -> int | None:
        """The first column whose heading matches."""
        found = (index for index, title in enumerate(self.header) if re.search(pattern, title, re.IGNORECASE))
        return next(found, None)


@dataclass(frozen=True)
class CodeBlock:
    language: str
    lines: tuple[str, ...]
    line: int
    """The line of the report on which its first line stands."""
    section: Section
    before: Sentence | None


@dataclass
class Document:
    """A report as it was read. `path` is as the user gave it."""

    path: str
    text: str
    digest: str
    sentences: list[Sentence] = field(default_factory=list)
    sections: list[Section] = field(default_factory=list)
    lists: list[Items] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    blocks: list[CodeBlock] = field(default_factory=list)

    @cached_property
    def title(self) -> str:
        return next((section.title for section in self.sections if section.title), "")

    @property
    def counted(self) -> list[Sentence]:
        """What is counted as a sentence."""
        return [sentence for sentence in self.sentences if sentence.role != "heading"]

    def within(self, section: Section) -> Iterator[Sentence]:
        """The sentences below a heading, those of its sub-headings too."""
        return (sentence for sentence in self.sentences if section in sentence.section.path)


def read(path: Path, shown: str) -> Document:
    """Read one report. Raises UsageError, naming the file, where it is no UTF-8 text."""
    try:
        data = read_argument(path, MAX_BYTES)
    except IsADirectoryError as error:
        raise UsageError("is a folder", where=shown, remedy="name the reports one by one") from error
    except TooLargeError:
        larger = f"larger than {MAX_BYTES // 1024 // 1024} MiB"
        raise UsageError(larger, where=shown, remedy="name a prose report") from None
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=shown, remedy="name a Markdown file") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError("not UTF-8 text", where=f"{shown}:{line}", remedy="save the report as UTF-8") from error
    if "\0" in text:
        raise UsageError("holds a NUL byte", where=shown, remedy="name a Markdown file")
    if not text.strip():
        raise UsageError("holds no text", where=shown, remedy="name a report that is not empty")
    return parse(text, shown, hashlib.sha256(data).hexdigest())


def parse(text: str, path: str, digest: str = "") -> Document:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    document = Document(path, text, digest)
    body = _FRONT_MATTER.sub(lambda match: "\n" * match[0].count("\n"), text)
    _Reader(document).read(MarkdownIt("commonmark").enable("table").parse(body))
    return document


class _Reader:
    """Walks the tokens once."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.section = Section("", 0, 1)
        self.last: Sentence | None = None
        self.stack: list[tuple[bool, list[Sentence], Section, Sentence | None]] = []
        self.fresh_item = False
        document.sections.append(self.section)

    def read(self, tokens: Sequence[Token]) -> None:
        position = 0
        while position < len(tokens):
            token = tokens[position]
            match token.type:
                case "table_open":
                    position = self._table(tokens, position)
                case "heading_open":
                    self._heading(tokens[position + 1], int(token.tag[1:]))
                    position += 2
                case "bullet_list_open" | "ordered_list_open":
                    self.stack.append((token.type.startswith("ordered"), [], self.section, self.last))
                case "bullet_list_close" | "ordered_list_close":
                    ordered, items, section, before = self.stack.pop()
                    listed = Items(ordered, tuple(items), section, len(self.stack), before)
                    self.document.lists.append(listed)
                case "list_item_open":
                    self.fresh_item = True
                case "inline":
                    self._inline(token)
                case "fence" | "code_block":
                    self._block(token)
            position += 1

    def _heading(self, inline: Token, level: int) -> None:
        (line, _) = inline.map or (0, 0)
        parent = next((section for section in reversed(self.section.path) if section.level < level), None)
        text = plain_text(inline)
        self.section = Section(" ".join(text.split()), level, line + 1, parent)
        self.document.sections.append(self.section)
        self.last = self._sentence(text, line + 1, "heading")

    def _inline(self, token: Token) -> None:
        (start, _) = token.map or (0, 0)
        text = plain_text(token)
        role = "item" if self.stack else "text"
        for offset, part in split_sentences(text):
            sentence = self._sentence(part, start + 1 + text.count("\n", 0, offset), role)
            if self.fresh_item and self.stack:
                self.stack[-1][1].append(sentence)
                self.fresh_item = False
            self.last = sentence

    def _block(self, token: Token) -> None:
        (start, _) = token.map or (0, 0)
        first = start + (2 if token.type == "fence" else 1)
        lines = tuple(token.content.rstrip("\n").split("\n"))
        language = (token.info.split() or [""])[0].lower()
        self.document.blocks.append(CodeBlock(language, lines, first, self.section, self.last))

    def _table(self, tokens: Sequence[Token], position: int) -> int:
        before = self.last
        header: tuple[str, ...] = ()
        rows: list[Sentence] = []
        cells: list[tuple[str, ...]] = []
        row: list[str] = []
        line = 0
        while tokens[position].type != "table_close":
            token = tokens[position]
            if token.type == "tr_open":
                row, line = [], (token.map or [0])[0]
            elif token.type == "inline":
                row.append(" ".join(plain_text(token).split()))
            elif token.type == "tr_close" and not header:
                header = tuple(row)
            elif token.type == "tr_close":
                cells.append(tuple(row))
                rows.append(self._sentence(" | ".join(row), line + 1, "row"))
            position += 1
        self.document.tables.append(Table(header, tuple(rows), tuple(cells), self.section, before))
        self.last = rows[-1] if rows else before
        return position

    def _sentence(self, text: str, line: int, role: str) -> Sentence:
        sentence = Sentence(text, line, self.section, role, len(self.document.sentences))
        self.document.sentences.append(sentence)
        return sentence


def plain_text(inline: Token) -> str:
    """The words of an inline token; code keeps its backticks, line ends stay."""
    parts: list[str] = []
    for child in inline.children or ():
        match child.type:
            case "text":
                parts.append(child.content)
            case "code_inline":
                parts.append(f"`{child.content}`")
            case "softbreak" | "hardbreak":
                parts.append("\n")
            case "image":
                parts.append(child.content)
    return "".join(parts)


def split_sentences(text: str) -> Iterator[tuple[int, str]]:
    """Offset and text of each sentence. A line end ends one only beside a `Key: value` line."""
    lines = text.split("\n")
    start = offset = 0
    for index, line in enumerate(lines):
        offset += len(line) + 1
        following = lines[index + 1] if index + 1 < len(lines) else None
        if following is None or _KEY_LINE.match(following) or _KEY_LINE.match(line) or _SIGNS.match(following):
            yield from _stops(text, start, offset - 1)
            start = offset


def _stops(text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    begin = start
    for stop in _STOP.finditer(text, start, end):
        inside_code = text.count("`", begin, stop.start()) % 2
        if inside_code or _ABBREVIATED.search(text[begin : stop.start()]):
            continue
        yield begin, text[begin : stop.start() + 1].strip()
        begin = stop.end()
    if text[begin:end].strip():
        yield begin, text[begin:end].strip()
