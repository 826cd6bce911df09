"""Projects that hand float16 over to Lightning: a right one passes for what its steps show, a wrong one is blocked."""

from __future__ import annotations

import json
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow
pytest.importorskip("lightning")

TRAIN = """
import lightning.pytorch as pl
import torch
from torch.utils.data import DataLoader, TensorDataset


class Regression(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)
        self.automatic_optimization = {automatic}

    def training_step(self, batch, index):
        inputs, targets = batch
        loss = torch.nn.functional.mse_loss(self.layer(inputs), targets)
        {by_hand}

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


def train():
    pl.seed_everything(0)
    data = DataLoader(TensorDataset(torch.randn(32, 8), torch.randn(32, 1)), batch_size=4)
    trainer = pl.Trainer(
        max_epochs=1, devices=1, precision="16-mixed", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
    )
    trainer.fit(Regression(), data)
    return trainer.global_step


if __name__ == "__main__":
    train()
"""
RIGHT = TRAIN.format(automatic=True, by_hand="return loss")
WRONG = TRAIN.format(
    automatic=False,
    by_hand="""optimizer = self.optimizers()
        optimizer.zero_grad()
        self.manual_backward(loss)
        optimizer.optimizer.step()""",
)
TEST = """
import pytest
from train import train


@pytest.mark.requirement("AMP-01")
@pytest.mark.requirement("AMP-02")
@pytest.mark.requirement("AMP-03")
def test_trains():
    assert train() >= 0
"""
SPECIFICATION = """
title: Mixed precision by Lightning
extends: amp-delegated
select: [AMP-01, AMP-02, AMP-03]
"""
SETTINGS = """
[project]
name = "delegated"

[requirements]
spec = "requirements.yaml"

[execution.oracles]
emulated_entries = ["python train.py"]
"""


def audit(root: Path, program: str) -> tuple[int, dict[str, Any]]:
    """The gate's exit code on a project, and its report."""
    for name, text in (
        ("train.py", program),
        ("test_train.py", TEST),
        ("pytest.ini", "[pytest]\nmarkers = requirement(id)\n"),
        ("requirements.yaml", SPECIFICATION),
        ("verifygate.toml", SETTINGS),
    ):
        (root / name).write_text(text)
    ended = subprocess.run(
        [Path(sysconfig.get_path("scripts"), "verifygate"), "run", "--stage", "all", "--report-dir", root / "reports"],
        cwd=root, capture_output=True, text=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert ended.returncode in (0, 1), ended.stdout + ended.stderr
    return ended.returncode, json.loads((root / "reports" / "report.json").read_text())


def checks(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {check["id"]: check for stage in report["stages"] for check in stage["checks"]}


def test_a_right_project_passes_for_what_its_steps_show(tmp_path: Path) -> None:
    """Its test trains in bfloat16 here, without a scaler; with CUDA emulated it trains as it is asked to."""
    code, report = audit(tmp_path, RIGHT)
    found = checks(report)

    assert [each["text"] for each in report["reasons"]] == []
    assert (code, report["verdict"]) == (0, "PASS")
    assert found["execution.trace"]["status"] == "PASS"
    said = found["requirements.architecture"]["actual"]
    assert "delegated to Lightning at train.py" in said
    assert "behaviour shown by" in said
    assert "scale-invariance PASS" in said


def test_a_step_past_the_framework_blocks(tmp_path: Path) -> None:
    """It steps on gradients times 65,536, and its test passes."""
    code, report = audit(tmp_path, WRONG)

    assert (code, report["verdict"]) == (1, "BLOCK")
    assert any("AMP207" in each["text"] for each in report["reasons"])
    assert checks(report)["requirements.architecture"]["status"] != "PASS"
