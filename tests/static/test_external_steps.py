"""What is handed over may be run by a call out of sight: no finding about its window is certain then."""

from __future__ import annotations

import pytest

from verifygate.config.settings import StaticSettings
from verifygate.model import Certainty
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.static.engine import analyse

PROGRAM = """
import torch
from torch import nn
from engine import Bus

model = nn.Linear(4, 4).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cuda")


def settle():
    {settle}


bus = Bus()
{register}
for batch in range(10):
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = model(torch.randn(2, 4, device="cuda")).sum()
    scaler.scale(loss).backward()
    {call}
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
"""
UNSCALE = "scaler.unscale_(optimizer)"


def certainties(settle: str, register: str, call: str) -> list[Certainty]:
    text = PROGRAM.format(settle=settle, register=register, call=call)
    found = analyse(Sources([SourceFile("train.py", text.encode())]), StaticSettings(select=("AMP201",))).findings
    return [each.certainty for each in found]


@pytest.mark.parametrize(
    ("register", "call"),
    [
        pytest.param("bus.on('settle', settle)", "bus.emit('settle')", id="function"),
        pytest.param(f"bus.on('settle', lambda: {UNSCALE})", "bus.emit('settle')", id="lambda"),
        pytest.param("hook = bus.bind(scaler.unscale_, optimizer)", "hook()", id="bound method"),
    ],
)
def test_what_is_handed_over_may_run(register: str, call: str):
    assert certainties(UNSCALE, register, call) == [Certainty.LIKELY]


@pytest.mark.parametrize(
    ("settle", "register", "call"),
    [
        pytest.param("pass", "bus.on('settle', settle)", "bus.emit('settle')", id="what is handed over does nothing"),
        pytest.param(UNSCALE, "", "bus.emit('settle')", id="nothing is handed over"),
        pytest.param(UNSCALE, "bus.on('settle', settle)", "print(loss)", id="the call is known"),
    ],
)
def test_a_clip_of_scaled_gradients_is_certain_else(settle: str, register: str, call: str):
    assert certainties(settle, register, call) == [Certainty.CERTAIN]


@pytest.mark.parametrize("call", ["bus.settle(scaler, optimizer)", "bus.settle(optimizer, grad_scaler=scaler)"])
def test_a_method_out_of_sight_that_is_given_the_scaler_may_run_it(call: str):
    """Also one of a name that nothing in the project has."""
    assert certainties("pass", "", call) == [Certainty.LIKELY]


@pytest.mark.parametrize("call", ["bus.settle(optimizer)", "bus.scaled(scaler.get_scale())"])
def test_a_method_out_of_sight_that_is_given_no_scaler_does_not(call: str):
    assert certainties("pass", "", call) == [Certainty.CERTAIN]
