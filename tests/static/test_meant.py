"""What is done on purpose, and says so beside it, weighs less."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifygate.config.rule_selection import RuleSelection
from verifygate.model import Severity
from verifygate.sources.discovery import read_sources
from verifygate.static.engine import analyse

LOOP = """import torch


def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler("cuda", init_scale=2.0**10)
    for batch in batches:
        optimizer.zero_grad()
        {above}
        scaler.scale(model(batch)).backward()
        {below}
        optimizer.step()


train(*torch.load("everything.pt"))
"""


@pytest.mark.parametrize(
    ("above", "below", "severity"),
    [
        ("# do not unscale: Adam divides the scale away", "", Severity.LOW),
        ("", "# Unscaling isn't needed with Adam", Severity.LOW),
        ("", "# no need to unscale here, the scaler does it", Severity.CRITICAL),
        ("", "# unscale and step", Severity.CRITICAL),
        ("# Adam", "", Severity.CRITICAL),
        ("", "", Severity.CRITICAL),
    ],
)
def test_a_direct_step_that_says_why_is_low(tmp_path: Path, above: str, below: str, severity: Severity):
    (tmp_path / "train.py").write_text(LOOP.format(above=above, below=below), encoding="utf-8")

    (finding,) = analyse(read_sources(tmp_path, ["."]), RuleSelection(select=("AMP207",))).findings

    assert finding.severity is severity
