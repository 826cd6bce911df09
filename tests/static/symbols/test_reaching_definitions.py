"""Reaching definitions: which assignments of `x` may hold where the last `use(x)` stands."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable

import pytest

from verifygate.static.analysis import Analysis
from verifygate.static.symbols.reaching_definitions import reaching

PROGRAMS = {
    "the last of two": ("x = 1\nx = 2\nuse(x)", ["2"]),
    "both branches": ("if c:\n    x = 1\nelse:\n    x = 2\nuse(x)", ["1", "2"]),
    "a branch and what came before": ("x = 1\nif c:\n    x = 2\nuse(x)", ["1", "2"]),
    "inside the branch": ("x = 1\nif c:\n    x = 2\n    use(x)", ["2"]),
    "the other branch": ("x = 1\nif c:\n    x = 2\nelse:\n    use(x)", ["1"]),
    "a loop leads back": ("x = 1\nfor i in y:\n    use(x)\n    x = 2", ["1", "2"]),
    "a loop, assigned first": ("x = 1\nfor i in y:\n    x = 2\n    use(x)", ["2"]),
    "behind a loop": ("x = 1\nfor i in y:\n    x = 2\nuse(x)", ["1", "2"]),
    "later, with no loop": ("x = 1\nuse(x)\nx = 2", ["1"]),
    "a with block runs": ("x = 1\nwith c:\n    x = 2\nuse(x)", ["2"]),
    "a handler": ("try:\n    x = 1\nexcept E:\n    x = 2\nuse(x)", ["1", "2"]),
    "the loop variable": ("for x in y:\n    use(x)", ["y"]),
    "its own right side": ("x = 1\nx = use(x)", ["1"]),
    "its own right side, in a loop": ("x = 1\nfor i in y:\n    x = use(x)", ["1", "use(x)"]),
    "an augmented assignment": ("x = 1\nx += 2\nuse(x)", ["2"]),
    "cases": ("match y:\n    case 1:\n        x = 1\n    case _:\n        x = 2\nuse(x)", ["1", "2"]),
    "a handler sees what was tried": ("x = 1\ntry:\n    x = 2\nexcept E:\n    use(x)", ["1", "2"]),
    "an inner loop first": ("for i in y:\n    for j in y:\n        x = 1\n        use(x)\n    x = 2", ["1"]),
    "the else of a loop": ("x = 1\nfor i in y:\n    pass\nelse:\n    x = 2\nuse(x)", ["1", "2"]),
    "another function's": ("x = 1\ndef g():\n    x = 2\nuse(x)", ["1"]),
    "an outer loop leads back": ("x = 1\nwhile a:\n    while b:\n        use(x)\n    x = 2", ["1", "2"]),
}
IMPRECISE = {"the other branch": ["1", "2"]}
"""More than may hold, which is safe: a branch is not told from its twin."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_reaching(name: str, analysed: Callable[[str], Analysis]) -> None:
    text, expected = PROGRAMS[name]
    (module,) = analysed("def f(y):\n" + textwrap.indent(text, "    ")).modules
    function = module.functions["f"]
    use = next(call for call in function.calls if ast.unparse(call) == "use(x)")
    found = reaching("x", use.args[0], function)
    assert found is not None
    values = sorted(ast.unparse(each.expr) for each in found if each.expr is not None)
    assert set(expected) <= set(values)
    assert values == IMPRECISE.get(name, expected)


def test_a_use_on_the_last_line_of_a_statement_and_one_in_no_statement(analysed: Callable[[str], Analysis]) -> None:
    """A place is told by the node and not by its line: a copy of it stands nowhere."""
    text = "def f(y):\n    x = 1\n    if (\n        y and\n        use(x)\n    ):\n        x = 2\n"
    (module,) = analysed(text).modules
    function = module.functions["f"]
    (use,) = (call.args[0] for call in function.calls)
    copy = ast.copy_location(ast.Name("x", ast.Load()), use)

    assert [ast.unparse(each.expr) for each in reaching("x", use, function) or () if each.expr] == ["1"]
    assert reaching("x", copy, function) is None


def test_a_parameter_reaches_until_it_is_assigned(analysed: Callable[[str], Analysis]) -> None:
    (module,) = analysed("def f(x):\n    use(x)\n    x = 1\n    use(x)\n").modules
    function = module.functions["f"]
    first, second = (call.args[0] for call in sorted(function.calls, key=lambda call: call.lineno))
    kinds = [[each.kind for each in reaching("x", at, function) or ()] for at in (first, second)]
    assert kinds == [["parameter"], ["value"]]


def test_a_name_that_the_function_does_not_bind(analysed: Callable[[str], Analysis]) -> None:
    (module,) = analysed("x = 1\n\ndef f():\n    use(x)\n").modules
    function = module.functions["f"]
    assert reaching("x", function.calls[0].args[0], function) is None
