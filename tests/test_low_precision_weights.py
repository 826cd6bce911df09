"""Projects that train weights in half precision: what rounding and a zero eps do to them is seen in their own tests."""

from __future__ import annotations

import json
import re
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow
pytest.importorskip("torch")

TRAIN = """
import json
from pathlib import Path

import torch

SETTINGS = json.loads(Path(__file__).with_name("settings.json").read_text())
{helpers}

def train(steps=20):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 2))
    model.to(getattr(torch, SETTINGS["weights"]))
    {optimizer}
    for _ in range(steps):
        model.zero_grad()
        inputs = torch.randn(16, 32)
        {forward}
        loss = outputs.float().pow(2).mean()
        loss.backward()
        {step}
    return loss.item()
"""
TEST = """
from train import train


def test_trains():
    train()
"""
AUTOCAST = """with torch.autocast("cpu", dtype=torch.bfloat16):
            outputs = model(inputs)"""
PLAIN = "outputs = model(inputs.to(getattr(torch, SETTINGS['weights'])))"
ADAM = "optimizer = torch.optim.{name}(model.parameters(), lr=SETTINGS['rate'])"
MASTER = """weights = list(model.parameters())
    master = [weight.detach().float() for weight in weights]
    optimizer = torch.optim.AdamW(master, lr=SETTINGS["rate"])"""
STEP_MASTER = """for copy, weight in zip(master, weights):
            copy.grad = weight.grad.float()
        optimizer.step()
        with torch.no_grad():
            for copy, weight in zip(master, weights):
                weight.copy_(copy)"""
STOCHASTIC = """

class Stochastic(torch.optim.AdamW):
    @torch.no_grad()
    def step(self, closure=None):
        kept = [(weight, weight.data) for group in self.param_groups for weight in group["params"]]
        for weight, half in kept:
            gradient, weight.grad = weight.grad.float(), None
            weight.data = half.float()
            weight.grad = gradient
        super().step()
        for weight, half in kept:
            noise = torch.randint(0, 1 << 16, weight.shape, dtype=torch.int32)
            half.copy_(((weight.data.view(torch.int32) + noise) & -65536).view(torch.float32))
            weight.grad = None
            weight.data = half

"""


def audit(
    root: Path,
    weights: str,
    *,
    optimizer: str = ADAM.format(name="AdamW"),
    forward: str = AUTOCAST,
    step: str = "optimizer.step()",
    helpers: str = "",
) -> dict[str, Any]:
    """The gate's report on a project. Dtype and rate stand in a file of its own, so the source does not tell them."""
    program = TRAIN.format(optimizer=optimizer, forward=forward, step=step, helpers=helpers)
    for name, text in (
        ("train.py", program),
        ("settings.json", json.dumps({"weights": weights, "rate": 1e-5})),
        ("test_train.py", TEST),
        ("pytest.ini", "[pytest]\n"),
        ("verifygate.toml", '[project]\nname = "half weights"\n'),
    ):
        (root / name).write_text(text)
    command = Path(sysconfig.get_path("scripts"), "verifygate")
    ended = subprocess.run(
        [command, "run", "--stage", "all", "--report-dir", root / "reports"],
        cwd=root, capture_output=True, text=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    report: dict[str, Any] = json.loads((root / "reports" / "report.json").read_text())
    assert ended.returncode == (0 if report["verdict"] == "PASS" else 1), ended.stdout + ended.stderr
    return report


def page(root: Path) -> str:
    return (root / "reports" / "execution.md").read_text()


def findings(report: dict[str, Any]) -> list[tuple[str, str, str]]:
    lines = [(each["rule"], each["certainty"], each["snippet"]) for s in report["stages"] for each in s["findings"]]
    return [line for line in lines if line[0].startswith("AMP")]


def test_bfloat16_weights_that_do_not_move_block(tmp_path: Path) -> None:
    report = audit(tmp_path, "bfloat16")

    assert report["verdict"] == "BLOCK"
    assert findings(report) == [("AMP701", "certain", "optimizer.step()")]
    told = re.search(r"AdamW, parameter group 0, bfloat16.* ([\d.]+)% of the updates were lost", page(tmp_path))
    assert told is not None
    assert float(told[1]) > 90.0


def test_float16_weights_with_adams_eps_block(tmp_path: Path) -> None:
    report = audit(tmp_path, "float16", optimizer=ADAM.format(name="Adam"), forward=PLAIN)

    assert report["verdict"] == "BLOCK"
    assert findings(report) == [("AMP402", "certain", "optimizer.step()")]


@pytest.mark.parametrize(
    ("weights", "parts"),
    [
        ("float32", {}),
        ("bfloat16", {"optimizer": MASTER, "step": STEP_MASTER}),
        (
            "bfloat16",
            {"optimizer": "optimizer = Stochastic(model.parameters(), lr=SETTINGS['rate'])", "helpers": STOCHASTIC},
        ),
    ],
    ids=["float32 weights", "master copy", "stochastic rounding"],
)
def test_their_right_twins_pass(tmp_path: Path, weights: str, parts: dict[str, str]) -> None:
    report = audit(tmp_path, weights, **parts)

    assert [reason["text"] for reason in report["reasons"]] == []
    assert report["verdict"] == "PASS"
    assert findings(report) == []
