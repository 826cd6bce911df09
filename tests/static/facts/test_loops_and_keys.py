"""Hot loops, loop-variant conditions, and the keys of dicts."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from verifygate.static.analysis import Analysis
from verifygate.static.facts.loop_variance import adds_to_what_is_there, is_of_the_finite, says_the_same
from verifygate.static.symbols.sites import Test as Guard

LOOPS = {
    "trains": ("for x, y in loader:\n    loss = model(x)\n    loss.backward()\n    optimizer.step()", [(True, True)]),
    "evaluates": ("with torch.no_grad():\n    for x, y in loader:\n        out = model(x)", [(False, True)]),
    "epochs": (
        "for epoch in range(9):\n    for x in loader:\n        model(x).backward()\n        optimizer.step()",
        [(True, True)],
    ),
    "no model": ("for x in loader:\n    print(x)", []),
    "a counter": ("for i in range(9):\n    print(i)", []),
}


@pytest.mark.parametrize("name", LOOPS)
def test_hot_loops(name: str, analysed: Callable[[str], Analysis]) -> None:
    """(trains, iterates over a data loader) of each loop that runs a model in each iteration."""
    text, expected = LOOPS[name]
    body = "\n".join(f"    {line}" for line in text.splitlines())
    analysis = analysed(
        "import torch\nfrom torch.amp import GradScaler\nfrom torch.utils.data import DataLoader\n\n"
        "def f(model: torch.nn.Module, data):\n    optimizer = torch.optim.SGD(model.parameters())\n"
        f"    loader = DataLoader(data)\n{body}\n"
    )
    assert [(loop.trains, loop.over_loader) for loop in analysis.hot_loops.loops] == expected


def test_what_runs_in_each_iteration_leads_through_calls(analysed: Callable[[str], Analysis]) -> None:
    analysis = analysed(
        """
        import torch
        from torch.amp import autocast

        def step(model, x, optimizer):
            loss = model(x)
            loss.backward()
            optimizer.step()
            inner()

        def inner():
            deep()

        def f(model, loader):
            optimizer = torch.optim.SGD(model.parameters())
            for i, x in enumerate(loader):
                step(model, x, optimizer)
                if i % 100 == 0:
                    rare()
            once()
        """
    )
    (loop,) = analysis.hot_loops.training
    calls = {ast.unparse(each.node.func) for each in loop.iteration_points if isinstance(each.node, ast.Call)}
    assert {"step", "loss.backward", "deep"} <= calls
    assert not {"rare", "once"} & calls


def condition(text: str, body: str = "pass", *, holds: bool = True) -> Guard:
    return Guard(ast.parse(text, mode="eval").body, (), tuple(ast.parse(body).body), holds)


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        (condition("torch.isfinite(loss)"), True),
        (condition("torch.isnan(loss)"), False),
        (condition("not torch.isnan(loss)"), True),
        (condition("torch.isnan(loss)", holds=False), True),
        (condition("torch.isfinite(loss) and last"), False),
        (condition("loss > 0"), False),
    ],
)
def test_a_condition_that_leaves_out_inf_and_nan(test: Guard, expected: bool) -> None:
    assert is_of_the_finite(test) is expected


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        (condition("total is None", "total = new"), False),
        (condition("total is None", "total = total + new", holds=False), True),
        (condition("total is not None", "total = total + new"), True),
        (condition("other is None", "total = total + new"), False),
        (condition("total", "total = total + new"), False),
    ],
)
def test_a_sum_over_iterations(test: Guard, expected: bool) -> None:
    assert adds_to_what_is_there(test) is expected


@pytest.mark.parametrize(
    ("test", "other", "expected"),
    [
        (condition("last"), condition("last"), True),
        (condition("last"), condition("full or last"), True),
        (condition("last"), condition("full and last"), False),
        (condition("last"), condition("last", holds=False), False),
        (condition("last"), condition("full"), False),
    ],
)
def test_one_condition_holds_only_where_the_other_does(test: Guard, other: Guard, expected: bool) -> None:
    assert says_the_same(test, other) is expected


KEYS = {
    "written": ("d = {'a': 1, 'b': 2}", {"a", "b"}),
    "by keyword": ("d = dict(a=1)", {"a"}),
    "added": ("d = {'a': 1}\n    d['b'] = 2", {"a", "b"}),
    "setdefault": ("d = {'a': 1}\n    d.setdefault('b', 2)", {"a", "b"}),
    "updated": ("d = {'a': 1}\n    d.update(b=2)", {"a", "b"}),
    "spread": ("e = {'b': 2}\n    d = {'a': 1, **e}", {"a", "b"}),
    "computed": ("d = {key: 1}", None),
    "updated by what is unknown": ("d = {'a': 1}\n    d.update(more())", None),
    "passed to code outside": ("d = {'a': 1}\n    outside.fill(d)", None),
    "a callee adds a key": ("d = {'a': 1}\n    with_c(d)", None),
    "not a dict": ("d = load()", None),
}


@pytest.mark.parametrize("name", KEYS)
def test_keys_of_a_dict(name: str, analysed: Callable[[str], Analysis]) -> None:
    text, expected = KEYS[name]
    analysis = analysed(
        f"import outside\n\ndef with_c(target):\n    target['c'] = 1\n\ndef f(key):\n    {text}\n    return d\n"
    )
    function = analysis.modules[0].functions["f"]
    shapes = analysis.dict_keys.of(function.returns[0], analysis.evaluator.root_frame(function))
    assert (shapes and set().union(*(shape.keys for shape in shapes))) == expected
