"""Optimizers that step in the hooks of a backward: their updates, share of half precision and bad steps are seen."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from verifygate.cli import main

pytest.importorskip("torch")
CHECKPOINTED = """
import torch
from torch.utils.checkpoint import checkpoint
blocks = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(3)]).bfloat16()
each = {p: torch.optim.AdamW([p], lr=RATE) for p in blocks.parameters()}
def step(p):
    each[p].step()
    each[p].zero_grad()
for p in blocks.parameters():
    p.register_post_accumulate_grad_hook(step)
for _ in range(12):
    x = torch.randn(16, 64).bfloat16().requires_grad_()
    for block in blocks:
        x = x + checkpoint(block, x, use_reentrant=REENTRANT).tanh()
    x.float().square().mean().backward()
"""
BROKEN = """
import torch
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh(), torch.nn.Linear(8, 4))
each = {p: torch.optim.SGD([p], lr=1e-2) for p in model.parameters()}
def step(p):
    each[p].step()
    each[p].zero_grad()
for p in model.parameters():
    p.register_post_accumulate_grad_hook(step)
for i in range(1, 24):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        h = model(torch.randn(16, 8)).float()
    away = h - h.detach() + (0 if i == 20 and BROKEN else 1)
    loss = away.square().sum(-1).sqrt().mean()
    loss.backward()
"""


def probed(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    (folder / "train.py").write_text(text, encoding="utf-8")
    monkeypatch.chdir(folder)
    main(("probe", "--format", "json", "--", sys.executable, "train.py"))
    report = json.loads(capsys.readouterr().out)
    assert report["trace"]["problems"] == []
    return report


@pytest.mark.slow
@pytest.mark.parametrize(("rate", "reentrant"), [("1e-6", True), ("1e-6", False), ("1e-1", False)])
def test_updates_of_a_checkpointed_model(
    rate: str,
    reentrant: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The six steps of a backward are one step of the sample: 9 matrix operations, and 3 that are made again.

    A checkpoint that is not re-entrant stops before those.
    """
    text = CHECKPOINTED.replace("RATE", rate).replace("REENTRANT", str(reentrant))
    report = probed(text, tmp_path, monkeypatch, capsys)
    found = {(each["rule"], each["line"], each["certainty"]) for each in report["findings"]}
    assert found == ({("AMP701", 7, "certain")} if rate == "1e-6" else set())
    sample = report["trace"]["low_precision"]
    operations = 4 * (12 if reentrant else 9)
    assert (sample["steps"], sample["operations"], sample["low_operations"]) == (4, operations, operations)


@pytest.mark.slow
@pytest.mark.parametrize("broken", [True, False])
def test_a_gradient_that_breaks(
    broken: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The statements are run again in the midst of the backward, and their forward is told from it."""
    report = probed(BROKEN.replace("BROKEN", str(broken)), tmp_path, monkeypatch, capsys)
    first = report["numerics"]["bad_steps"][0] if broken else None
    assert report["outcome"] == ("unstable" if broken else "clean")
    if first is not None:
        assert (first["step"], first["origin"]["line"], first["origin"]["backward"]) == (20, 14, "SqrtBackward0")
