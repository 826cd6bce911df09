"""What stands in a body, and which definitions it makes."""

from __future__ import annotations

import ast

import pytest

from verifygate.sources.qualified_names import definitions
from verifygate.static.symbols.own_nodes import own_nodes, replaces


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a; b(c)", ["a", "b", "c"]),
        ("if a: b\nelse: c", ["a", "b", "c"]),
        ("for a in b: c\nelse: d", ["a", "b", "c", "d"]),
        ("try: a\nexcept b: c\nelse: d\nfinally: e", ["a", "b", "c", "d", "e"]),
        ("with a as b: c", ["a", "b", "c"]),
        ("match a:\n    case 1 if b: c", ["a", "b", "c"]),
        ("[a for b in c if d]", ["a", "b", "c", "d"]),
        ("{a: b, **c}", ["a", "c", "b"]),
        ("def f(): a", []),
        ("async def f(): a", []),
        ("class C: a", []),
        ("f = lambda: a", ["f"]),
        ("if a:\n    def f(): b\n    c", ["a", "c"]),
    ],
)
def test_the_nodes_of_a_body_without_those_of_definitions_inside(text: str, names: list[str]) -> None:
    found = own_nodes(ast.parse(text))
    assert sorted(node.id for node in found if isinstance(node, ast.Name)) == sorted(names)


def test_nodes_come_in_source_order() -> None:
    found = own_nodes(ast.parse("a = b(c, d=e)\nif f: g\nelse: h"))
    ids = [node.id for node in found if isinstance(node, ast.Name)]
    assert ids == list("abcefgh")


@pytest.mark.parametrize(
    ("text", "symbols"),
    [
        ("def f(): pass\nclass C: pass", ["f", "C"]),
        ("if a:\n    def f(): pass", ["f"]),
        ("try:\n    import a\nexcept E:\n    def f(): pass", ["f"]),
        ("with a:\n    for b in c:\n        class C: pass", ["C"]),
        ("match a:\n    case 1:\n        def f(): pass", ["f"]),
        ("def f():\n    def g(): pass", ["f"]),
        ("class C:\n    def m(self): pass", ["C"]),
    ],
)
def test_the_definitions_of_a_body(text: str, symbols: list[str]) -> None:
    assert list(definitions(ast.parse(text).body).values()) == symbols


def test_definitions_that_bear_one_name_are_told_apart() -> None:
    first, second = definitions(ast.parse("if a:\n    def f(): pass\nelse:\n    def f(): pass").body).values()
    assert first == "f" != second


@pytest.mark.parametrize(
    ("text", "does"),
    [
        ("def f(): pass\ndef f(): pass", True),
        ("@property\ndef f(self): pass\n@f.setter\ndef f(self, to): pass", False),
        ("def f(): pass\nif a:\n    def f(): pass", False),
    ],
)
def test_a_later_definition_replaces_an_earlier_one(text: str, does: bool) -> None:
    body = ast.parse(text).body
    last = [node for node in ast.walk(ast.Module(body, [])) if isinstance(node, ast.FunctionDef)][-1]
    assert replaces(last, body) is does
