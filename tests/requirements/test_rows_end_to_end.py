"""A small project through the whole gate: its loop runs under the recorder, and one line or one test less shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifygate.config.settings import load
from verifygate.gate.run import RunOptions, run
from verifygate.model import RequirementsDetails, Status

pytest.importorskip("torch")
pytestmark = pytest.mark.slow

LOOP = """\
import torch


class Trainer:
    def __init__(self):
        self.model = torch.nn.Linear(4, 1)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=8.0)

    def step(self, batch):
        with torch.autocast("cpu", dtype=torch.float16):
            loss = self.model(batch).float().mean()
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()
        return self.scaler.get_scale()
"""
TESTS = """\
import pytest
import torch

from loop import Trainer


@pytest.mark.requirement("OVERFLOW")
def test_an_overflow_halves_the_scale():
    trainer = Trainer()
    assert trainer.step(torch.full((2, 4), float("inf"))) == 4.0


@pytest.mark.requirement("STEP")
def test_steps():
    trainer = Trainer()
    for _ in range(3):
        trainer.step(torch.ones(2, 4))
"""
SPEC = """\
title: A small loop
requirements:
  - id: STEP
    title: A step
    text: Scale, unscale, clip, step, update.
    group: acceptance
    severity: critical
    verify:
      - run: {order: [autocast, scale, backward, unscale, clip, step, update]}
      - rule: AMP201
      - marked_tests: {at_least: 1}
  - id: OVERFLOW
    title: An overflow
    text: The scale is halved.
    group: edge-case
    severity: high
    verify:
      - run: {scale: halves on overflow}
      - marked_tests: {at_least: 1}
  - id: TYPE
    title: Half precision
    text: float16 on the CPU.
    group: other
    severity: low
    verify:
      - run: {dtype: float16, device: cpu}
      - run: {parameters: float32}
"""
UNSCALE = "        self.scaler.unscale_(self.optimizer)\n"
CLIP = "        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)\n"
UPDATE = "        self.scaler.update()\n"
FIRST = TESTS[TESTS.index("@pytest") : TESTS.index('@pytest.mark.requirement("STEP")')]


@pytest.mark.parametrize(
    ("old", "new", "turned"),
    [
        ("", "", {}),
        (UNSCALE, "", {"STEP": Status.FAIL}),
        (UNSCALE + CLIP, CLIP + UNSCALE, {"STEP": Status.FAIL}),
        (CLIP, "", {"STEP": Status.FAIL}),
        (UPDATE, "", {"STEP": Status.FAIL, "OVERFLOW": Status.FAIL}),
        (FIRST, "", {"OVERFLOW": Status.FAIL}),
        ("dtype=torch.float16", "dtype=torch.bfloat16", {"TYPE": Status.PARTIAL}),
    ],
    ids=["whole", "unscale", "unscale after clip", "clip", "update", "test", "dtype"],
)
def test_what_is_gone_turns_its_rows(tmp_path: Path, old: str, new: str, turned: dict[str, Status]) -> None:
    """Found by the real recorder in a real run, with the tests that the change breaks as well."""
    assert old in LOOP + TESTS
    (tmp_path / "loop.py").write_text(LOOP.replace(old, new) if old else LOOP)
    (tmp_path / "test_loop.py").write_text(TESTS.replace(old, new) if old else TESTS)
    (tmp_path / "spec.yaml").write_text(SPEC)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = requirement(id): what it verifies\n")
    config = tmp_path / "verifygate.toml"
    config.write_text('[requirements]\nspec = "spec.yaml"\n[execution]\ncoverage = false\nretry = false\n')
    report = run(load(config, tmp_path), RunOptions(stages=("execution", "static", "requirements")))
    details = next(stage.details for stage in report.stages if stage.stage == "requirements")
    assert isinstance(details, RequirementsDetails)
    assert {row.id: row.status for row in details.requirements if row.status is not Status.PASS} == turned
