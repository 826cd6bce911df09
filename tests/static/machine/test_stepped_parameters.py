"""In shadow, the question of AMP701: which dtype have the parameters that an optimizer steps?"""

from __future__ import annotations

import pytest
from run_text import run
from tiny_torch import TinyTorch

from verifygate.events.record import Kind

HEAD = """
import argparse
import torch
from torch import nn
parser = argparse.ArgumentParser()
parser.add_argument("--fp16", action="store_true")
args = parser.parse_args()

class Net(nn.Module):
    def __init__(self, width=4, half=False):
        super().__init__()
        self.inner = nn.Linear(width, width)
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(12)])
        self.blocks = [nn.Linear(width, 1), nn.LayerNorm(1)]
        if half:
            self.half()
    def forward(self, x):
        return self.inner(x)

def prepare(model):
    model.train()
    model.half()
    return model

def train(model, optimizer):
    for epoch in range(10):
        for batch in [torch.randn(2, 4)] * 3:
            loss = model(batch)
            loss.backward()
            optimizer.step()
            print(loss.norm())
"""
MADE = "optimizer = torch.optim.AdamW(net.parameters())\ntrain(net, optimizer)"


@pytest.mark.parametrize(
    ("lines", "dtypes"),
    [
        (f"net = Net()\n{MADE}", {"float32"}),
        (f"net = Net(half=True)\n{MADE}", {"float16"}),
        (f"net = Net().half()\n{MADE}", {"float16"}),
        (f"net = Net().to(torch.bfloat16).cuda()\n{MADE}", {"bfloat16"}),
        (f"dtype = torch.float16\nnet = Net()\nnet.to(dtype)\n{MADE}", {"float16"}),
        (f"net = prepare(Net())\n{MADE}", {"float16"}),
        (f"net = Net()\nprepare(model=net)\n{MADE}", {"float16"}),
        (
            "net = Net()\noptimizer = torch.optim.AdamW(net.parameters())\nprepare(net)\ntrain(net, optimizer)",
            {"float16"},
        ),
        (f"net = Net()\nfor m in net.modules():\n    m.half()\n{MADE}", {"float16"}),
        (f"net = Net()\nfor p in net.parameters():\n    p.data = p.data.half()\n{MADE}", {"float16"}),
        (f"net = Net()\nnet.half()\nnet.float()\n{MADE}", {"float32"}),
        (f"net = Net()\nif False:\n    net.half()\n{MADE}", {"float32"}),
        (f"half, net = Net().half(), Net()\n{MADE}", {"float32"}),
        (
            """
net = prepare(Net())
optimizer = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad])
train(net, optimizer)""",
            {"float16"},
        ),
        (
            """
net = prepare(Net())
optimizer = torch.optim.AdamW(list(filter(lambda p: p.requires_grad, net.parameters())))
train(net, optimizer)""",
            {"float16"},
        ),
    ],
)
def test_the_dtype_of_the_parameters_that_are_stepped_is_known(lines: str, dtypes: set[str]) -> None:
    machine = run(HEAD + lines, libraries=[TinyTorch()])
    steps = [each.event for each in machine.events if each.event.kind is Kind.STEP]
    assert steps
    for event in steps:
        assert event.dtypes_in is not None
        assert set().union(*event.dtypes_in) == dtypes
        assert event.line == HEAD.splitlines().index("            optimizer.step()") + 1
        assert [frame.symbol for frame in event.frames] == ["train"]


def test_what_an_option_decides_is_known_for_each_of_its_values() -> None:
    """Both `if args.fp16` go the same way, so no step sees parameters of both dtypes."""
    lines = (
        "net = Net()\nif args.fp16:\n    net.half()\noptimizer = torch.optim.AdamW(net.parameters())\n"
        "if args.fp16:\n    optimizer.step()\nelse:\n    optimizer.step()"
    )
    machine = run(HEAD + lines, libraries=[TinyTorch()])
    found = {
        (*map(str, each.decisions), *(each.event.dtypes_in or ()))
        for each in machine.events
        if each.event.kind is Kind.STEP
    }
    assert found == {("args.fp16", frozenset({"float16"})), ("not (args.fp16)", frozenset({"float32"}))}


@pytest.mark.parametrize(
    ("lines", "in_region", "grad"),
    [
        ("with torch.autocast('cuda'):\n    net(x)", True, True),
        ("with torch.autocast('cuda', enabled=False):\n    net(x)", False, True),
        ("with torch.autocast('cuda'):\n    pass\nnet(x)", False, True),
        ("with torch.autocast('cuda', enabled=args.fp16):\n    net(x)", None, True),
        ("@torch.autocast('cuda')\ndef run(n):\n    return n(x)\nrun(net)", True, True),
        ("with torch.no_grad():\n    net(x)", False, False),
        (
            """
from contextlib import contextmanager
@contextmanager
def region():
    with torch.autocast('cuda'):
        yield 3
with region() as n:
    net(x)""",
            True,
            True,
        ),
        ("def run():\n    with torch.autocast('cuda'):\n        return 1\nrun()\nnet(x)", False, True),
        (
            """
from contextlib import contextmanager
@contextmanager
def region():
    with torch.autocast('cuda'):
        yield 3
def run():
    with region():
        return 1
run()
net(x)""",
            False,
            True,
        ),
        (
            """
for _ in range(99):
    with torch.autocast('cuda'):
        if x > 3:
            continue
    net(x)""",
            False,
            True,
        ),
    ],
)
def test_regions_and_modes_are_state_that_flows(lines: str, in_region: bool | None, grad: bool) -> None:
    machine = run(f"{HEAD}net = Net()\nx = torch.randn(3)\n{lines}", libraries=[TinyTorch()])
    events = [each.event for each in machine.events if each.event.kind is Kind.OPERATOR]
    assert {(each.in_region, each.grad_mode) for each in events} == {(in_region, grad)}
