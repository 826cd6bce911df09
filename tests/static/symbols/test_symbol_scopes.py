"""Every way in which Python binds a name, and what the scope says it is bound to."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from verifygate.static.analysis import Analysis

Row = tuple[str, int | str | None, str | None]


def bindings(statement: str, name: str, analysis: Analysis) -> list[Row]:
    """Kind, position or target, and expression of each binding of a name in a function."""
    (module,) = analysis.modules
    found = module.functions["f"].scope.names.get(name, [])
    return [
        (
            each.kind,
            each.target or (each.position if each.kind == "item" else None),
            each.expr and ast.unparse(each.expr),
        )
        for each in found
    ]


@pytest.mark.parametrize(
    ("statement", "name", "expected"),
    [
        ("x = a.b", "x", [("value", None, "a.b")]),
        ("x: int = 1", "x", [("value", None, "1")]),
        ("x: int", "x", [("opaque", None, None)]),
        ("x += y", "x", [("changed", None, "y")]),
        ("print(x := y)", "x", [("value", None, "y")]),
        ("x = y = z", "y", [("value", None, "z")]),
        ("x, y = a, b", "y", [("value", None, "b")]),
        ("x, y = pair()", "y", [("item", 1, "pair()")]),
        ("(x, (y, z)) = a, (b, c)", "z", [("value", None, "c")]),
        ("x, *y = a, b, c", "y", [("opaque", None, None)]),
        ("for x in xs: pass", "x", [("iteration", None, "xs")]),
        ("for i, x in enumerate(xs): pass", "x", [("iteration", None, "xs")]),
        ("for i, x in enumerate(xs): pass", "i", [("index", None, "xs")]),
        ("for i, x in enumerate(xs, 1): pass", "i", [("opaque", None, "xs")]),
        ("for x, y in zip(xs, ys): pass", "y", [("iteration", None, "ys")]),
        ("for k, x in table.items(): pass", "x", [("entry", None, "table")]),
        ("for x in table.values(): pass", "x", [("entry", None, "table")]),
        ("with open(p) as x: pass", "x", [("context", None, "open(p)")]),
        ("try: pass\n    except E as x: pass", "x", [("opaque", None, None)]),
        ("match y:\n        case A(field=x): pass", "x", [("opaque", None, None)]),
        ("match y:\n        case [1, *x]: pass", "x", [("opaque", None, None)]),
        ("match y:\n        case {'a': 1, **x}: pass", "x", [("opaque", None, None)]),
        ("match y:\n        case {'a': _}: pass", "_", []),
        ("print(x)", "x", []),
        ("y.x = 1", "x", []),
        ("x[0] = 1", "x", []),
        ("class A:\n        x = 1", "x", []),
        ("import a.b", "a", [("module", "a", None)]),
        ("import a.b as x", "x", [("module", "a.b", None)]),
        ("from a import b", "b", [("member", "a:b", None)]),
        ("from ..a import b as x", "x", [("member", "..a:b", None)]),
        ("def x(): pass", "x", [("function", None, None)]),
        ("class x: pass", "x", [("class", None, None)]),
        ("x = 1\n    x = 2", "x", [("value", None, "1"), ("value", None, "2")]),
        ("pass", "given", [("parameter", None, None)]),
        ("pass", "rest", [("opaque", None, None)]),
        ("def g():\n        x = 1", "x", []),
        (
            "def g():\n        nonlocal x\n        x = 1\n    x = 0",
            "x",
            [("value", None, "0"), ("elsewhere", None, "1")],
        ),
    ],
)
def test_a_statement_binds(statement: str, name: str, expected: list[Row], analysed: Callable[[str], Analysis]) -> None:
    analysis = analysed(f"def f(given, *rest):\n    {statement}\n")
    assert bindings(statement, name, analysis) == expected


def test_a_global_is_bound_by_the_function_that_declares_it(analysed: Callable[[str], Analysis]) -> None:
    (module,) = analysed("scaler = None\n\ndef f():\n    global scaler\n    scaler = make()\n").modules
    declared, elsewhere = module.body.scope.names["scaler"]
    assert (declared.kind, elsewhere.kind) == ("value", "elsewhere")
    assert module.binders[elsewhere] is module.functions["f"]
    assert module.functions["f"].scope.outer == {"scaler"}


def test_exec_may_set_the_constants_above_it_anew(analysed: Callable[[str], Analysis]) -> None:
    (module,) = analysed("rate = 1\nexec(open('options.py').read())\nlate = 2\n").modules
    names = module.body.scope.names
    assert [each.kind for each in names["rate"]] == ["value", "opaque"]
    assert [each.kind for each in names["late"]] == ["value"]
