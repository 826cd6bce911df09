"""A method whose name its class binds again never runs: nothing is said of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifygate.cli import main

FAULTY = """\
    {decorator}def step(self, loss):
        self.scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.scaler.step(self.optimizer)
        self.scaler.update()
"""
SOUND = """\
    def step(self, loss):
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
"""
HEAD = """\
import torch


class Trainer:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.scaler = torch.amp.GradScaler("cuda")

"""


@pytest.mark.parametrize(
    ("between", "decorator", "code"),
    [
        ("", "", 0),
        ("    first = step\n", "", 1),
        ("", "@registered\n    ", 1),
        ("    if FAST:\n        pass\n", "", 0),
    ],
)
def test_only_a_method_that_nobody_could_keep(tmp_path: Path, between: str, decorator: str, code: int) -> None:
    text = f"{HEAD}{FAULTY.format(decorator=decorator)}{between}{SOUND}"
    (tmp_path / "train.py").write_text(text, encoding="utf-8")
    assert main(["check", str(tmp_path / "train.py")]) == code
