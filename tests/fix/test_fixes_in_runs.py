"""Programs that run before a safe fix run after it, and end in the same bits."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from scanning import scan

from verifygate.fix import FIXES, repaired
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources

HEAD = """import torch
from torch import nn

torch.manual_seed(0)
nets = {str(key): nn.Linear(4, 2) for key in range(2)}
opts = {key: torch.optim.SGD(net.parameters(), lr=0.1) for key, net in nets.items()}
data = [(torch.randn(8, 4), torch.randint(0, 2, (8,))) for _ in range(4)]
scaler = torch.amp.GradScaler("cpu", init_scale=256.0)


def loss_of(net, inputs, targets):
    with torch.autocast("cpu", dtype=torch.float16):
        return nn.functional.cross_entropy(net(inputs), targets)


"""
TAIL = """

kept = train()
kept = [float(each) for each in kept] if isinstance(kept, list) else float(kept)
print(kept, [float(p.detach().double().sum()) for net in nets.values() for p in net.parameters()])
"""
TEMPTING = {
    "one update after a loop over keys": """
def train():
    for inputs, targets in data:
        for key in (0, 1):
            opts[str(key)].zero_grad()
            scaler.scale(loss_of(nets[str(key)], inputs, targets)).backward()
            scaler.step(opts[str(key)])
        scaler.update()
    return 0.0
""",
    "one update after a loop over values": """
def train():
    for inputs, targets in data:
        for net, optimizer in zip(nets.values(), opts.values()):
            optimizer.zero_grad()
            scaler.scale(loss_of(net, inputs, targets)).backward()
            scaler.step(optimizer)
        scaler.update()
    return 0.0
""",
    "the update in another method": """
class Trainer:
    def __init__(self):
        self.scaler = scaler

    def one(self, key, inputs, targets):
        optimizer = opts[key]
        optimizer.zero_grad()
        self.scaler.scale(loss_of(nets[key], inputs, targets)).backward()
        self.scaler.step(optimizer)

    def end(self):
        self.scaler.update()


def train():
    trainer = Trainer()
    for inputs, targets in data:
        for key in opts:
            trainer.one(key, inputs, targets)
        trainer.end()
    return 0.0
""",
    "a number over a divisor": """
def train(accumulate=2):
    total = 0.0
    for number, (inputs, targets) in enumerate(data, 1):
        loss = loss_of(nets["0"], inputs, targets)
        scaler.scale(loss / accumulate).backward()
        total += loss.item() / accumulate
        if number % accumulate == 0:
            scaler.step(opts["0"])
            scaler.update()
            opts["0"].zero_grad()
    return total
""",
    "a weight that is a number": """
def train():
    weights = []
    for number, (inputs, targets) in enumerate(data):
        weight = 1.0 / (number + 1)
        loss = loss_of(nets["0"], inputs, targets)
        opts["0"].zero_grad()
        scaler.scale(weight * loss).backward()
        weights.append(weight)
        scaler.step(opts["0"])
        scaler.update()
    return weights
""",
    "a count": """
def train():
    seen = 0
    for inputs, targets in data:
        batch = len(inputs)
        loss = loss_of(nets["0"], inputs, targets) * batch
        opts["0"].zero_grad()
        scaler.scale(loss / batch).backward()
        seen += batch
        scaler.step(opts["0"])
        scaler.update()
    return seen
""",
    "a loss with its graph": """
def train():
    total = 0.0
    for inputs, targets in data:
        loss = loss_of(nets["0"], inputs, targets)
        opts["0"].zero_grad()
        scaler.scale(loss / 2).backward()
        total += loss / 2
        scaler.step(opts["0"])
        scaler.update()
    return total
""",
    "deprecated names, by every argument": """
from torch.cpu.amp import GradScaler, autocast


def train():
    old = GradScaler(256.0, 2.0, enabled=True)
    total = []
    for inputs, targets in data:
        opts["0"].zero_grad()
        with autocast(True, torch.bfloat16), torch.cuda.amp.autocast(False):
            loss = nn.functional.cross_entropy(nets["0"](inputs), targets)
        old.scale(loss).backward()
        old.step(opts["0"])
        old.update()
        total.append(loss.item())
    return total
""",
}
CHANGED = {"a loss with its graph", "deprecated names, by every argument"}
RUN = """import contextlib, io, json, sys
told = []
for text in json.load(sys.stdin):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(text, "train.py", "exec"), {"__name__": "train"})
    told.append(out.getvalue())
json.dump(told, sys.stdout)
"""


def fixed(text: str) -> str:
    repair = repaired(Sources([SourceFile("train.py", text.encode())]), scan, FIXES)
    file = repair.after.get("train.py")
    assert file is not None
    return file.text


@pytest.mark.slow
def test_safe_fixes_leave_running_programs_as_they_are():
    """Every safe fix of every rule, on programs that look like the fault."""
    before = [HEAD + body.lstrip("\n") + TAIL for body in TEMPTING.values()]
    after = [fixed(text) for text in before]

    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", RUN],
        input=json.dumps([*before, *after]),
        capture_output=True,
        text=True,
        check=True,
    )

    told = json.loads(run.stdout)
    assert dict(zip(TEMPTING, told[len(before) :], strict=True)) == dict(zip(TEMPTING, told, strict=False))
    changed = {name for name, old, new in zip(TEMPTING, before, after, strict=True) if old != new}
    assert changed == CHANGED
    assert [fixed(text) for text in after] == after
