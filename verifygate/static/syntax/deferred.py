"""Lazy parsing: each top-level function and class of a file is parsed when its node is first read. Few ever are.

What stands between them is parsed at once, and the lines that begin them tell names and places. A definition that is
asked for anything else is parsed then, and is a plain node of the syntax tree from there on.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

from verifygate.sources.outline import Span
from verifygate.static.syntax.parser import UnparsableError, parse_code
from verifygate.static.syntax.traversal import FIELDS

KINDS: dict[str, type[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]] = {
    "function": ast.FunctionDef,
    "async function": ast.AsyncFunctionDef,
    "class": ast.ClassDef,
}


class Bytes(Protocol):
    """A file, as far as definitions are parsed from it. It may have to read its bytes again."""

    @property
    def data(self) -> bytes: ...


class Source(NamedTuple):
    """What a deferred definition is parsed from."""

    file: Bytes
    span: Span
    line: int
    """The line on which the definition, with its decorators, begins."""
    on_failure: Callable[[Span, int], ast.stmt]
    """Gives the node where the span, with the line of its `def` or `class`, does not prove right."""

    def holds(self, word: bytes) -> bool:
        return self.file.data.find(word, self.span.start, self.span.end) != -1

    def begins_with(self, word: bytes) -> bool:
        """Whether a statement may begin with a word: it stands so in a line, and not in the midst of a sentence."""
        data, end = self.file.data, self.span.end
        at = data.find(word, self.span.start, end)
        while at != -1:
            if data[data.rfind(b"\n", 0, at) + 1 : at].rstrip()[-1:] in b";:":  # or nothing
                return True
            at = data.find(word, at + 1, end)
        return False

    def parse(self) -> ast.stmt:
        """The definition's node, with the line numbers that it has in the file."""
        span = self.span
        found = self._parsed(b"\n" * (self.line - 1), slims=True)
        return found or self.on_failure(span, self.line + self.file.data.count(b"\n", span.start, span.head))

    def stands_alone(self) -> bool:
        """Whether it can be parsed, and so need not be looked for in the whole file."""
        return self._parsed(b"", slims=False) is not None

    def _parsed(self, above: bytes, *, slims: bool) -> ast.stmt | None:
        span = self.span
        try:
            body = parse_code(above + self.file.data[span.start : span.end], slims=slims).body
        except UnparsableError:
            return None
        alone = len(body) == 1 and body[0].__class__ is KINDS[span.kind] and body[0].name == span.name.decode()
        return body[0] if alone else None


class DeferredFunction(ast.FunctionDef):
    """A function of which only name and place are known until it is asked for more."""

    __slots__ = ()  # so that it can become what it stands for


class DeferredAsyncFunction(ast.AsyncFunctionDef):
    """The same for `async def`."""

    __slots__ = ()


class DeferredClass(ast.ClassDef):
    """The same for a class."""

    __slots__ = ()


_DEFERRED: dict[type[ast.stmt], type[ast.stmt]] = {
    ast.FunctionDef: DeferredFunction,
    ast.AsyncFunctionDef: DeferredAsyncFunction,
    ast.ClassDef: DeferredClass,
}
DEFERRED = frozenset(_DEFERRED.values())


def _asked(name: str) -> property:
    def get(node: ast.stmt) -> object:
        found = node.__dict__.pop("source").parse()
        node.__class__ = found.__class__
        node.__dict__.update(found.__dict__)
        return getattr(node, name)

    return property(get)


for _kind, _deferred in _DEFERRED.items():
    FIELDS[_deferred] = FIELDS[_kind]
    for _name in {*_kind._fields, "end_lineno", "end_col_offset"} - {"name"}:
        setattr(_deferred, _name, _asked(_name))


def empty_definition(span: Span, line: int) -> ast.stmt:
    """What stands for a definition that cannot be parsed: nothing is known of it but its name."""
    keyword = "class" if span.kind == "class" else "def"
    node = ast.parse(f"{keyword} {span.name.decode()}{'' if keyword == 'class' else '()'}: pass").body[0]
    return ast.increment_lineno(node, line - 1)


def source_of(node: ast.AST) -> Source | None:
    """What a node will be parsed from, if it is a definition that nobody has looked into yet."""
    return node.__dict__["source"] if node.__class__ in DEFERRED else None


def parse_skeleton(file: Bytes, spans: Iterable[Span], on_failure: Callable[[Span, int], ast.stmt]) -> ast.Module:
    """The syntax tree of a file whose definitions at the top level are deferred. Raises UnparsableError."""
    data = file.data
    between: list[bytes] = []
    nodes: list[ast.stmt] = []
    end, line = 0, 1
    for span in spans:
        between += (data[end : span.start], b"\n" * data.count(b"\n", span.start, span.end))
        line += data.count(b"\n", end, span.start)
        kind = _DEFERRED[KINDS[span.kind]]
        node = kind.__new__(kind)
        head = line + data.count(b"\n", span.start, span.head)
        source = Source(file, span, line, on_failure)
        node.__dict__.update(name=span.name.decode(), lineno=head, col_offset=0, source=source)
        nodes.append(node)
        line += data.count(b"\n", span.start, span.end)
        end = span.end
    tree = parse_code(b"".join([*between, data[end:]]))
    tree.body = sorted([*tree.body, *nodes], key=lambda each: each.lineno)
    return tree
