"""The values of names that come from other files, enclosing functions, and elsewhere."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from verifygate.static.analysis import Analysis
from verifygate.static.values.domain import (
    UNKNOWN,
    ExternalName,
    ExternalResult,
    FunctionValue,
    Literal,
    ModuleValue,
    Object,
    Value,
)

FILES = {
    "main": """
import lib
import lib.deep as deep
import lib.deep
import torch
from lib import value as renamed, onward
from lib import deep as same
from lib.nowhere import lost
from elsewhere import outside
from stars import *

again = 1
again = 2

def local(given, fallback=7):
    value = 5
    def inner():
        return value
    try:
        pass
    except ValueError as again:
        return again
    return inner

def rebinds():
    global again
    again = 3

if torch.cuda.is_available():
    chosen = "cuda"
else:
    chosen = "cpu"
""",
    "lib/__init__": "from .deep import value, onward\n",
    "lib/deep": "value = 4\nclass Net: pass\nonward = Net()\n",
    "stars": "starred = 6\n_hidden = 7\n",
}


def shown(value: Value) -> object:
    match value:
        case Literal():
            return value.value
        case ExternalName():
            return value.name
        case ExternalResult():
            return f"{value.name}()"
        case ModuleValue():
            return value.module.path
        case FunctionValue():
            return f"{value.function.symbol}()"
        case Object():
            return f"a {value.made.symbol}"
    return "?" if value is UNKNOWN else type(value).__name__


@pytest.mark.parametrize(
    ("text", "symbol", "expected"),
    [
        ("lib", "", ["lib/__init__.py"]),
        ("lib.value", "", [4]),
        ("lib.deep.value", "", [4]),
        ("deep", "", ["lib/deep.py"]),
        ("same.value", "", [4]),
        ("renamed", "", [4]),
        ("onward", "", ["a Net"]),
        ("lost", "", ["lib.nowhere.lost"]),
        ("outside", "", ["elsewhere.outside"]),
        ("outside()", "", ["elsewhere.outside()"]),
        ("starred", "", [6]),
        ("_hidden", "", ["builtins._hidden"]),  # a star leaves it out: nothing here binds it
        ("again", "", [1, 2, 3]),
        ("chosen", "", ["cpu", "cuda"]),
        ("value", "local.inner", [5]),
        ("given", "local.inner", ["?"]),
        ("inner()", "local", [5]),
        ("renamed", "local", [4]),
        ("again", "local", ["?"]),  # what was caught, and not the global of that name
        ("len", "local", ["builtins.len"]),
    ],
)
def test_the_values_of_a_name(
    text: str, symbol: str, expected: list[object], analysed: Callable[..., Analysis]
) -> None:
    analysis = analysed(**FILES)
    module = next(each for each in analysis.modules if each.path == "main.py")
    function = module.functions[symbol] if symbol else module.body
    expr = ast.parse(text, mode="eval").body
    found = analysis.evaluator.values(expr, analysis.evaluator.root_frame(function))
    assert sorted(map(shown, found), key=str) == sorted(expected, key=str)


def test_a_file_that_imports_its_own_name_ends(analysed: Callable[..., Analysis]) -> None:
    analysis = analysed(a="from b import x", b="from a import x")
    frame = analysis.evaluator.module_frame(analysis.modules[0])
    assert analysis.evaluator.values(ast.Name("x", ast.Load()), frame) == (UNKNOWN,)
