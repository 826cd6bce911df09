"""Top-level definitions that are parsed one by one come to the tree that the whole file comes to."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import verifygate
from verifygate.sources.file import SourceFile
from verifygate.sources.outline import split
from verifygate.sources.tree import Sources
from verifygate.static.symbols.program import Module, Program
from verifygate.static.syntax.deferred import DEFERRED, Source, empty_definition, parse_skeleton, source_of
from verifygate.static.syntax.parser import UnparsableError

TRICKY = b'''"""Text at the margin:
class of its own, not code.
"""
from a import (
    b,
)
@first
@second(
    1
)
class A(B):
    """Text
at the margin of a class."""
    x = 1

    def f(self): return "not at the margin"
# a comment at the margin

    def g(self): ...
async def h(
    a,
) -> int:
    return a  # the end
def one(): return 1; x = 2
if A:
    def under_a_condition(): pass
else:
    class Other: pass
table = {
"key": one,
}
class Last:
    pass
'''


def fails(*_: object) -> ast.stmt:
    raise AssertionError("it should parse by itself")


def in_parts(data: bytes) -> ast.Module:
    return parse_skeleton(SourceFile("a.py", data), split(data), fails)


def same(left: ast.AST, right: ast.AST) -> bool:
    assert len(list(ast.walk(left))) == len(list(ast.walk(right)))  # by which each node has been looked into
    return ast.dump(left, include_attributes=True) == ast.dump(right, include_attributes=True)


def test_the_parts_of_a_file_come_to_the_same_tree_line_by_line() -> None:
    assert [span.name for span in split(TRICKY)] == [b"A", b"h", b"one", b"Last"]
    assert same(in_parts(TRICKY), ast.parse(TRICKY))


@pytest.mark.slow
def test_this_project_comes_to_the_same_trees() -> None:
    """Hundreds of files; in few of them strings cannot be told from code."""
    files = [SourceFile(path.name, path.read_bytes()) for path in Path(verifygate.__file__).parent.rglob("*.py")]
    for file in files:
        module = Program(Sources([file]), {}).module(file.path)
        assert module is not None
        assert same(module.tree, ast.parse(file.data)), file.path
    with_definitions = [file for file in files if b"\ndef " in file.data or b"\nclass " in file.data]
    assert (
        sum(not file.definitions for file in with_definitions) < len(with_definitions) / 4
    )  # rules have code in their docs


def test_nothing_is_parsed_before_it_is_asked_for() -> None:
    tree = in_parts(TRICKY)
    head = next(node for node in tree.body if node.__class__ in DEFERRED)
    assert isinstance(head, ast.ClassDef)
    assert (head.name, head.lineno, head.col_offset) == ("A", 11, 0)
    source = source_of(head)
    assert source is not None
    assert source.holds(b"margin of a class")
    assert not source.holds(b"async")
    assert source.begins_with(b"x = 1")
    assert source.begins_with(b"margin") is False
    assert [each.id for each in head.decorator_list if isinstance(each, ast.Name)] == ["first"]
    assert head.__class__ is ast.ClassDef
    assert source_of(head) is None


@pytest.mark.parametrize(
    "data",
    [b"x = '''\ndef f(): pass\n'''\n", b"# it is '''\ndef f(): pass\n", b"x = 1\n\x0cdef f(): pass\n", b""],
    ids=["code in a string", "a quote in a comment", "a form feed", "nothing"],
)
def test_where_strings_and_code_cannot_be_told_apart_nothing_is_split(data: bytes) -> None:
    assert split(data) == []


@pytest.mark.parametrize(
    ("data", "plain"),
    [
        (b"# -*- coding: utf-8 -*-\nx = 1\n", True),
        ("x = 'ä'\n".encode(), True),
        (b"# -*- coding: latin-1 -*-\nx = 1\n", False),
        (b"#!/usr/bin/env python\n# vim: set fileencoding=latin-1 :\nx = 1\n", False),
        (b"x = 1\r\n", False),
        (b"\xef\xbb\xbfx = 1\n", False),
        (b"x = '\xe4'\n", False),
        (b"x = '\0'\n", False),
    ],
)
def test_only_plain_utf8_is_taken_as_it_stands(data: bytes, plain: bool) -> None:
    assert SourceFile("a.py", data).is_plain is plain


BROKEN = b"""
def whole():
    return part()

def broken():
    return 1 +

def after():
    return 2
"""
CUT_SHORT = b"""
def first():
    return 'a \\
and b'

def third():
    return 3
"""


def parsed(data: bytes) -> tuple[Program, Module]:
    program = Program(Sources([SourceFile("a.py", data)]), {})
    module = program.module("a.py")
    assert module is not None
    return program, module


def returned(module: Module, number: int) -> list[str]:
    node = module.tree.body[number]
    assert isinstance(node, ast.FunctionDef)
    return [ast.unparse(each) for each in module.function(node).returns]


def test_a_broken_definition_is_told_when_it_is_looked_into_and_takes_no_other_with_it() -> None:
    program, module = parsed(BROKEN)
    assert [returned(module, 0), returned(module, 2)] == [["part()"], ["2"]]
    assert not program.failures
    assert returned(module, 1) == []
    assert {path: str(error) for path, error in program.failures.items()} == {"a.py": "line 6: invalid syntax"}


def test_where_a_line_misleads_the_whole_file_is_parsed() -> None:
    program, module = parsed(CUT_SHORT)
    assert [returned(module, 0), returned(module, 1)] == [["'a and b'"], ["3"]]
    assert not program.failures


def test_the_rest_of_a_file_is_parsed_by_definitions_that_nobody_has_looked_into(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """None of it twice."""
    program, module = parsed(TRICKY)
    assert [span.name for span in module.file.definitions] == [b"A", b"h", b"one", b"Last"]
    one = next(node for node in module.tree.body if getattr(node, "name", "") == "one")
    assert len(one.body) == 2
    seen: list[bytes] = []

    def noted(code: bytes, *, slims: bool) -> ast.Module:
        assert not slims  # nobody keeps it
        seen.append(code)
        return ast.parse(code)

    for name in ("syntax.deferred.parse_code", "symbols.program.parse"):
        monkeypatch.setattr(f"verifygate.static.{name}", noted)
    program.parse_the_rest(module.file)
    assert [TRICKY[span.start : span.end] for span in module.file.definitions if span.name != b"one"] == seen


def test_a_broken_definition_that_nobody_looks_into_is_told() -> None:
    """With its line in the file; and a line that misleads breaks nothing."""
    program, module = parsed(BROKEN)
    with pytest.raises(UnparsableError, match="line 6: invalid syntax"):
        program.parse_the_rest(module.file)
    program, module = parsed(CUT_SHORT)
    program.parse_the_rest(module.file)


def test_what_stands_for_a_broken_definition_is_empty() -> None:
    (span,) = split(b"@f\nclass A(B): x = 1\n")
    assert ast.unparse(empty_definition(span, 2)) == "class A:\n    pass"
    assert empty_definition(span, 2).lineno == 2


@pytest.mark.parametrize(
    ("data", "in_code"),
    [
        (b'def f():\n    """Like `autocast`."""\n', False),
        (b'"""\nUnder autocast.\n"""\nx = autocast\n', True),
        (b"# autocast\n", True),
        (b'a = \'"""\'\nwith autocast():\n    b = \'"""\'\n', True),
        (b"# '''\nwith autocast():\n    pass\n# '''\n", True),
        (b'x = """a \\""" b"""\nautocast()\ny = """c"""\n', True),
    ],
    ids=["documentation", "both", "a comment", "quotes in strings", "quotes in comments", "an escaped quote"],
)
def test_a_word_stands_in_code_unless_it_surely_stands_in_a_text(data: bytes, in_code: bool) -> None:
    """What is taken for a text by mistake would hide a violation."""
    assert SourceFile("a.py", data).in_code(b"autocast") is in_code


@pytest.mark.parametrize(
    ("data", "is_code"),
    [
        (b"x = 1  # 1e9\n", False),
        (b'"""1e9"""\n', False),
        (b"x = '#', 1e9\n", True),
        (b"# 1\nx = 1e9\n", True),
    ],
    ids=["a comment", "documentation", "behind a string with a sharp", "below a comment"],
)
def test_what_stands_in_a_comment_is_no_code(data: bytes, is_code: bool) -> None:
    assert SourceFile("a.py", data).is_code(data.index(b"1e9")) is is_code


@pytest.mark.parametrize(
    ("line", "begins"),
    [
        (b"    global x", True),
        (b"    if a: global x", True),
        (b"    y = 1; global x", True),
        (b"    # a global x", False),
        (b"    '''The global x.'''", False),
    ],
)
def test_a_statement_begins_in_a_line_or_behind_a_colon_or_semicolon(line: bytes, begins: bool) -> None:
    data = b"def f(a):\n%s\n" % line
    source = Source(SourceFile("a.py", data), *split(data), 1, empty_definition)
    assert source.begins_with(b"global ") is begins
