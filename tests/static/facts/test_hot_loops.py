"""Which calls run a model forward, which functions are one step, and what may be left out of an iteration."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from verifygate.static.analysis import Analysis

PROGRAM = """
import torch
from torch.amp import GradScaler

class Net(torch.nn.Module):
    def forward(self, x): return x

class FocalLoss(torch.nn.Module):
    def forward(self, x): return x

class Plain:
    def __call__(self, x): return x

def model_function(x): return x

def step(batch, optimizer):
    batch.sum().backward()

def outer(batch, optimizer):
    step(batch, optimizer)

def loops(batches, optimizer):
    for batch in batches:
        step(batch, optimizer)

def nothing(batch):
    print(batch)

def run(data, unknown_model, loader):
    net, loss, plain = Net(), FocalLoss(), Plain()
    linear = torch.nn.Linear(1, 1)
    mse = torch.nn.MSELoss()
    {0}
"""


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("net(data)", True),
        ("linear(data)", True),
        ("unknown_model(data)", True),  # by its name
        ("unknown.teacher(data)", True),
        ("loss(data)", False),
        ("mse(data)", False),
        ("plain(data)", False),  # a class of the project that is no module
        ("model_function(data)", False),
        ("save_model(data)", False),
        ("print(data)", False),
    ],
)
def test_a_call_runs_a_model(text: str, runs: bool, analysed: Callable[[str], Analysis]) -> None:
    analysis = analysed(PROGRAM.format(text))
    function = analysis.modules[0].functions["run"]
    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call)
    assert analysis.hot_loops.is_model(call.func, function) is runs


@pytest.mark.parametrize(("symbol", "one"), [("step", True), ("outer", True), ("loops", False), ("nothing", False)])
def test_a_function_is_one_step(symbol: str, one: bool, analysed: Callable[[str], Analysis]) -> None:
    analysis = analysed(PROGRAM.format("pass"))
    assert analysis.hot_loops.takes_one_step(analysis.modules[0].functions[symbol]) is one


@pytest.mark.parametrize(
    ("guard", "every"),
    [
        ("if True:", True),
        ("if use_amp:", True),
        ("if scaler is not None:", True),
        ("if i % 10 == 0:", False),
        ("if debug:", False),
        ("if global_step > 5:", False),
        ("if should_stop():", False),
        ("if isinstance(batch, list):", True),
        ("if batch is None:", False),  # bound anew in each iteration
        ("for part in parts:", True),
    ],
)
def test_what_runs_in_each_iteration(guard: str, every: bool, analysed: Callable[[str], Analysis]) -> None:
    analysis = analysed(
        f"""
        from torch.amp import GradScaler

        def train(net, loader, optimizer, use_amp, scaler, parts, i, debug, global_step):
            for batch in loader:
                net(batch).sum().backward()
                optimizer.step()
                {guard}
                    shown()
        """
    )
    (loop,) = analysis.hot_loops.training
    calls = [ast.unparse(spot.node) for spot in loop.iteration_points if isinstance(spot.node, ast.Call)]
    assert ("shown()" in calls) is every
