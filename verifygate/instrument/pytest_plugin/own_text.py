"""Hold what runs of a test against its text on disk: its code, its way through it, and how it ended.

A conftest can put wrappers around tests before pytest meets them, other code into their functions, or a trace function
beside them that jumps over asserts. So each function of a test file is compiled here from the file itself, with marks
(`flow_marks.py`), whatever pytest was handed; what runs says which code it is, that it was entered and left, and
whether it went by the way that its text has.
"""

from __future__ import annotations

import ast
import inspect
import os
import sys
import types
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest
from _pytest.assertion import rewrite

from . import asserts
from .flow_marks import SCOPES, Function, Marks, head

BASES = ("object", "TestCase", "unittest.TestCase")
"""What a class may inherit and have its methods run as they stand."""


@dataclass
class Written:
    """A function as it stands in a file of tests."""

    path: str
    name: str
    """`TestStep::test_scales`."""
    line: int
    plain: bool
    """Whether nothing in the text puts anything around it that could keep a failure to itself."""
    is_async: bool
    codes: list[types.CodeType] = field(default_factory=list)
    """What it is compiled to; several where several stand in one line."""
    entered: int = 0
    ended: int = 0
    seen: types.CodeType | None = None
    """The code that ran last, which was held against them."""


class Texts:
    """The functions of all files that pytest rewrote, and what was seen of them."""

    def __init__(self, harmless: Sequence[str]) -> None:
        self._harmless = tuple(each if each.endswith(".") else f"{each}{sign}" for each in harmless for sign in "(.")
        """Beginnings of decorators that let every failure pass: those names, called or not, and what is in them."""
        self._marks = Marks()
        self._written: list[Written] = []
        self._of_test: dict[tuple[str, str], list[Written]] = {}
        self._rewritten: set[str] = set()
        self._as_written = cache(self._plain)
        self._before: dict[str, tuple[int, int]] = {}
        self.failing = False
        """Whether every marked function fails as soon as it is entered."""
        self.altered: list[tuple[str, str, str]] = []
        """Path and name of a function, and how what ran is not its text."""

    def rewrite(self, tree: ast.Module, source: bytes, path: str | None, config: pytest.Config | None) -> None:
        """Rewrite the asserts of what stands on the disk, with marks; of what is handed in where that fails."""
        self._rewritten.add(os.path.realpath(path or ""))
        try:
            text = Path(path or "").read_bytes()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                marked = ast.parse(text)
                written = self._mark(marked, path or "", config)
                OWN_REWRITE(marked, text, path, config)
                module = compile(marked, path or "", "exec", dont_inherit=True)
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            OWN_REWRITE(tree, source, path, config)
            return
        codes: dict[tuple[str, int], list[types.CodeType]] = {}
        for code in _codes(module):
            codes.setdefault((code.co_name, code.co_firstlineno), []).append(code)
        for each, function in written:
            each.codes = codes.get((function.name, min(n.lineno for n in (function, *function.decorator_list))), [])
            self._of_test.setdefault((os.path.realpath(each.path), each.name), []).append(each)
        tree.body[:] = marked.body

    def _mark(self, tree: ast.Module, path: str, config: pytest.Config | None) -> list[tuple[Written, Function]]:
        if not tree.body or "PYTEST_DONT_REWRITE" in (ast.get_docstring(tree, clean=False) or ""):
            return []
        patterns = tuple(config.getini("python_functions")) if config is not None else ()
        found = []
        for node, name, plain in list(self._functions(tree, "", _Wanted(tree, patterns), plain=True)):
            written = Written(path, name, node.lineno, plain, isinstance(node, ast.AsyncFunctionDef))
            self._written.append(written)
            self._marks.put(node, len(self._written) - 1)
            found.append((written, node))
        if found:
            head(tree, __name__)
        return found

    def _functions(
        self, owner: ast.AST, above: str, wanted: _Wanted, *, plain: bool
    ) -> Iterator[tuple[Function, str, bool]]:
        """Tests and what they call to assert, and whether a failure in them comes out to who calls them by name."""
        bound = list(_bound_in(owner))
        for node in ast.iter_child_nodes(owner):
            if isinstance(node, Function):
                if wanted(node):
                    is_plain = plain and bound.count(node.name) == 1 and self._are_harmless(node.decorator_list)
                    yield node, f"{above}{node.name}", is_plain
            elif isinstance(node, ast.ClassDef):
                bases = all(ast.unparse(base) in BASES for base in node.bases) and not node.keywords
                inside = plain and bases and self._are_harmless(node.decorator_list)
                yield from self._functions(node, f"{above}{node.name}::", wanted, plain=inside)
            elif isinstance(node, ast.stmt | ast.ExceptHandler):
                yield from self._functions(node, above, wanted, plain=False)

    def _are_harmless(self, decorators: Sequence[ast.expr]) -> bool:
        return all(f"{ast.unparse(each)}(".startswith(self._harmless) for each in decorators)

    # --- what marked code calls

    def start(self, number: int, frame: types.FrameType) -> int:
        written = self._written[self._marks.points[number].function]
        written.entered += 1
        if frame.f_code is not written.seen:
            written.seen = frame.f_code
            if frame.f_code not in written.codes:
                self.altered.append((written.path, written.name, "other code ran than what stands there"))
        if self.failing:
            raise asserts.REAL("a test made to fail")
        return number

    def passed(self, number: int, last: object) -> int:
        point = self._marks.points[number]
        if last not in point.before:
            written = self._written[point.function]
            left = self._marks.points[last].line if isinstance(last, int) else written.line
            why = f"control was sent from its line {left} to line {point.line}"
            self.altered.append((written.path, written.name, why))
        return number

    def end(self, number: int, last: object) -> int:
        self.passed(number, last)
        self._written[self._marks.points[number].function].ended += 1
        return number

    # --- what the watch of the tests asks

    def written_for(self, item: pytest.Item) -> list[Written]:
        """The functions in the text of a test's own file that its id names; none where it was made in another way."""
        name = item.nodeid.partition("::")[2].partition("[")[0]
        return self._of_test.get((os.path.realpath(item.path), name), [])

    def may_fail(self, item: pytest.Item) -> bool:
        """Whether a failure inside this test's frame has to come out of what pytest calls; a coroutine is not asked."""
        written = self.written_for(item)
        alone = isinstance(item, pytest.Function) and item.cls is None
        return alone and bool(written) and all(each.plain and not each.is_async for each in written)

    def look_at(self, item: pytest.Item) -> None:
        """Note a test of a file that was loaded past pytest's rewriting, where its code is not that of the file."""
        path, mode = os.path.realpath(item.path), item.config.getoption("assertmode", "plain")
        if path in self._rewritten or mode == "plain" or not isinstance(item, pytest.Function):
            return
        code = getattr(inspect.unwrap(item.obj), "__code__", None)
        name = item.nodeid.partition("::")[2].partition("[")[0]
        written = self._as_written(path)
        if name in written and code not in written[name]:
            self.altered.append((path, name, "other code was loaded than what stands there"))

    def _plain(self, path: str) -> dict[str, list[types.CodeType]]:
        """The code of each function in a file that runs as it stands there, compiled as Python itself does it."""
        try:
            text = Path(path).read_bytes()
            tree, codes = ast.parse(text), list(_codes(compile(text, path, "exec", dont_inherit=True)))
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            return {}
        found = self._functions(tree, "", _Wanted(tree, ()), plain=True)
        return {name: [each for each in codes if each.co_name == node.name] for node, name, plain in found if plain}

    def begin(self, item: pytest.Item) -> None:
        """An attempt at the test's call begins."""
        self._before[item.nodeid] = _counts(self.written_for(item))

    def told_of(self, item: pytest.Item) -> dict[str, object]:
        """What speaks against a pass of this test; nothing where its text lets something else run in its place."""
        written = self.written_for(item)
        if item.nodeid not in self._before or not written or not all(each.plain for each in written):
            return {}
        counts = zip(_counts(written), self._before.pop(item.nodeid), strict=True)
        entered, ended = (now - before for now, before in counts)
        if not entered:
            return {"called": False}
        if entered > ended:
            message = "an exception that something between the test and pytest kept to itself"
            return {"failure": True, "message": message, "trace": [[written[0].path, written[0].line]]}
        return {}


class _Wanted:
    """Which functions of a file are marked: its tests, and what asserts and is called by its name alone.

    What is handed on may be compiled, pickled or sent to another process, where the marks mean nothing.
    """

    def __init__(self, tree: ast.Module, patterns: Sequence[str]) -> None:
        self._patterns = patterns
        called = {id(each.func) for each in ast.walk(tree) if isinstance(each, ast.Call)}
        names = (each for each in ast.walk(tree) if isinstance(each, ast.Name | ast.Attribute))
        handed = (each for each in names if id(each) not in called)
        self._handed = {each.id if isinstance(each, ast.Name) else each.attr for each in handed}

    def __call__(self, node: Function) -> bool:
        name = node.name
        if name.startswith("test") or any(name.startswith(each) or fnmatch(name, each) for each in self._patterns):
            return True
        return not node.decorator_list and name not in self._handed and _asserts(node)


def _counts(written: Sequence[Written]) -> tuple[int, int]:
    return sum(each.entered for each in written), sum(each.ended for each in written)


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield each
            yield from _codes(each)


def _asserts(node: ast.AST) -> bool:
    """Whether a function asserts by itself, and not only in a function within."""
    children = [child for child in ast.iter_child_nodes(node) if not isinstance(child, SCOPES)]
    return any(isinstance(child, ast.Assert) or _asserts(child) for child in children)


def _bound_in(owner: ast.AST) -> Iterator[str]:
    for each in ast.iter_child_nodes(owner):
        yield from _bound(each)


def _bound(node: ast.AST) -> Iterator[str]:
    """Names that a statement binds or deletes, in its own scope."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
        return
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
        yield node.id
    for each in ast.iter_child_nodes(node):
        yield from _bound(each)


OWN_REWRITE = rewrite.rewrite_asserts
texts: Texts | None = None


def install(harmless: Sequence[str]) -> Texts:
    """Rewrite every file from now on with marks. What was rewritten before, and kept, is not used."""
    global texts
    texts = Texts(harmless)
    rewrite.rewrite_asserts = texts.rewrite  # type: ignore[assignment]
    rewrite._read_pyc = lambda *_, **__: None
    return texts


def start(number: int) -> int:
    """A marked function was entered."""
    return texts.start(number, sys._getframe(1)) if texts is not None else number


def passed(number: int, last: object) -> int:
    """Control came to this mark, and was at `last` before."""
    return texts.passed(number, last) if texts is not None else number


def end(number: int, last: object) -> int:
    """A marked function is left, and by no exception."""
    return texts.end(number, last) if texts is not None else number
