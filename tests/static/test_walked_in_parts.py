"""What is too large to be walked whole is walked in parts, each with what its one call hands over."""

from __future__ import annotations

import pytest

from verifygate.config.rule_selection import RuleSelection
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.static.engine import analyse
from verifygate.static.lowering import builder

TRAINER = """import torch


class Trainer:
    def __init__(self, model, optimizer, loss_fn, precision):
        self.model, self.optimizer, self.loss_fn, self.precision = model, optimizer, loss_fn, precision
        self.scaler = torch.amp.GradScaler("cuda")

    def scales(self):
        return self.precision == "half"

    def fit(self, batches):
        scales = self.scales()
        for batch in batches:
            self.train_batch(batch, scales)
            LARGE

    def train_batch(self, batch, scales):
        self.optimizer.zero_grad(set_to_none=True)
        self.run(batch)
        if scales:
            self.scaler.step(self.optimizer)
            self.scaler.update()
        else:
            self.optimizer.step()

    def run(self, batch):
        with torch.autocast("cuda", dtype=torch.float16, enabled=self.scales()):
            loss = self.loss_fn(self.model(batch))
        if self.scales():
            loss = self.scaler.scale(loss)
        loss.backward()
"""


def told(code: str, monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], list[str]]:
    """The rules of the findings, and what was not walked, where a graph may have forty nodes."""
    monkeypatch.setattr(builder, "MAX_NODES", 40)
    large = "\n            ".join(["self.optimizer.zero_grad(set_to_none=True)"] * 40)
    result = analyse(Sources([SourceFile("train.py", code.replace("LARGE", large).encode())]), RuleSelection())
    return [each.rule for each in result.findings], [each.reason for each in result.not_followed]


def test_a_part_knows_what_its_one_call_hands_over(monkeypatch):
    """The flag that the loop hands on is the answer that the part gets once more where it asks itself."""
    assert told(TRAINER, monkeypatch) == (
        [],
        ["Trainer.fit has too many paths: the functions that it calls are explored instead"],
    )


def test_a_part_that_another_calls_as_well_may_be_given_anything(monkeypatch):
    """What one call hands over is not what the other does."""
    other = (
        TRAINER.partition("    def fit")[2].partition("    def train_batch")[0].replace("batch, scales", "batch, True")
    )

    assert set(told(f"{TRAINER}\n    def fit_half{other}", monkeypatch)[0]) == {"AMP206", "AMP207"}
