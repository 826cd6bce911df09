"""What a container surely holds where it is used: all of its elements, in order, or nothing."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from verifygate.static.analysis import Analysis

HELPERS = """
from collections import deque
from typing import NamedTuple

TABLE = {}


class Pair(NamedTuple):
    one: object
    two: object


def keep(name):
    def wrap(function):
        TABLE[name] = function
        return function

    return wrap


@keep("first")
def first(): ...


@keep("second")
def second(): ...


def grow(given):
    given.append(0)


def look(given):
    print(given)
"""


def held(body: str, analysed: Callable[[str], Analysis]) -> list[str] | None:
    """The elements of what `use(...)` is given in a function with this body."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    analysis = analysed(f"{HELPERS}\ndef main(a, b, c, many):\n{lines}")
    (module,) = analysis.modules
    main = module.functions["main"]
    (call,) = (each for each in main.calls if ast.unparse(each.func) == "use")
    found = analysis.evaluator.containers.of(call.args[0], analysis.evaluator.root_frame(main))
    return None if found is None else [ast.unparse(each.expr) for each in found.elements]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("use([a, *(b, c)])", ["a", "b", "c"]),
        ("use(([a] * 2 + [b])[::-1])", ["b", "a", "a"]),
        ("use({'x': a} | {'x': b, 'y': c})", ["b", "c"]),
        ("use({key: a for key in ('x', 'y') if key != 'x'})", ["a"]),
        ("use(dict([('x', a), ('y', b)]))", ["a", "b"]),
        ("use(Pair(two=a, one=b))", ["b", "a"]),
        ("use(TABLE.values())", ["function", "function"]),
        ("todo = deque()\ntodo.append(a)\ntodo.appendleft(b)\nuse(todo)", ["b", "a"]),
        ("todo = []\nfor each in (1, 2):\n    todo.append(each)\nuse(todo)", ["each", "each"]),
        ("todo = [a]\nuse(todo)\ntodo.append(b)", ["a"]),
        ("todo = [a]\nlook(todo)\nuse(todo)", ["a"]),
        ("for _ in many:\n    todo = [a]\n    todo += [b]\n    use(todo)\n    todo.clear()", ["a", "b"]),
    ],
)
def test_all_elements_are_known(body: str, expected: list[str], analysed: Callable[[str], Analysis]) -> None:
    assert held(body, analysed) == expected


@pytest.mark.parametrize(
    "body",
    [
        "todo = []\nif a:\n    todo.append(b)\nuse(todo)",
        "todo = []\nfor each in many:\n    todo.append(each)\nuse(todo)",
        "todo = []\nfor _ in many:\n    use(todo)\n    todo.append(a)",
        "todo = [a]\ngrow(todo)\nuse(todo)",
        "todo = [a]\ntodo.pop()\nuse(todo)",
        "todo = [a]\ndef more():\n    todo.append(b)\nmore()\nuse(todo)",
        "todo = [a]\nmore = lambda: todo.append(b)\nmore()\nuse(todo)",
        "use([*many])",
        "use(dict(zip('xy', [a, b])))",
        "use([each for each in many])",
    ],
)
def test_nothing_is_known_where_something_may_have_changed(body: str, analysed: Callable[[str], Analysis]) -> None:
    assert held(body, analysed) is None
