"""See whether asserts still fail: those that pytest rewrites, and those that stand in the tests.

A conftest can put a rewriter of its own in the place of pytest's, or another class in that of `AssertionError`. So an
assert that must fail is rewritten and run, and the code that was loaded for a test is held against its text.
"""

from __future__ import annotations

import ast
import dis
import inspect
import types
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from _pytest.assertion import rewrite

FAILING = b"def must_fail():\n    one = 1\n    assert one == 2\n"
Span = tuple[int, int]
Identity = tuple[str, int, tuple[str, ...]]
REAL = AssertionError
"""Bound here, before any code of the project can put another in its place."""


def rewritten(config: pytest.Config) -> Callable[[], None]:
    """A function with an assert that fails, rewritten as those of the tests are."""
    tree = ast.parse(FAILING)
    rewrite.rewrite_asserts(tree, FAILING, "<canary>", config)
    names: dict[str, object] = {}
    exec(compile(tree, "<canary>", "exec"), names)  # noqa: S102 - the text above
    function = names["must_fail"]
    assert isinstance(function, types.FunctionType)  # noqa: S101
    return function


def lost(item: pytest.Item) -> bool:
    """Whether a test's text has an assert that the loaded code does not have; False where that cannot be told."""
    function = inspect.unwrap(getattr(item, "obj", None) or _nothing)
    function = getattr(getattr(function, "hypothesis", None), "inner_test", function)
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    if code is None or Path(code.co_filename) != item.path:
        return False
    wanted = _asserts(code.co_filename).get(_identity(code))
    return bool(wanted) and not _has_all(code, wanted)


def _nothing() -> None:
    """In place of a test that has no function."""


@cache
def _has_all(code: types.CodeType, spans: frozenset[Span]) -> bool:
    """Whether code raises somewhere in each of these spans."""
    lines = _raising(code)
    return all(any(start <= line <= end for line in lines) for start, end in spans)


def _identity(code: types.CodeType) -> Identity:
    """What stays of a function's code where its asserts are rewritten, and not where another one passes for it."""
    return code.co_name, code.co_firstlineno, code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


@cache
def _asserts(path: str) -> dict[Identity, frozenset[Span]]:
    """The identity of each function in the file -> its asserts, but for those that Python itself leaves out."""
    try:
        data = Path(path).read_bytes()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(data)
            code = compile(data, path, "exec", dont_inherit=True, optimize=0)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    spans = [(node.lineno, node.end_lineno or node.lineno) for node in ast.walk(tree) if isinstance(node, ast.Assert)]
    return {
        _identity(each): frozenset(span for span in spans if _has_all(each, frozenset([span]))) for each in _codes(code)
    }


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield each
            yield from _codes(each)


def _raising(code: types.CodeType) -> set[int]:
    """The lines at which code raises."""
    found, line = set(), code.co_firstlineno
    starts = dict(dis.findlinestarts(code))
    for step in dis.get_instructions(code):
        line = starts.get(step.offset) or line
        if step.opname == "RAISE_VARARGS":
            found.add(line)
    return found
