"""What stages know apart and say together: a finding in a function that no test executes says so."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from verifygate import gate
from verifygate.config import Settings

TRAIN = '''"""Clips before it unscales, in two functions."""


def tested(scaler, optimizer, loss, parameters, clip_grad_norm_):
    return loss


def untested(loader, model, optimizer):
    from torch.amp import GradScaler, autocast
    from torch.nn.utils import clip_grad_norm_

    scaler = GradScaler("cuda")
    for batch in loader:
        optimizer.zero_grad()
        with autocast("cuda"):
            loss = model(batch).mean()
        scaler.scale(loss).backward()
        clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
'''


@pytest.mark.slow
def test_a_finding_in_an_untested_function_says_so(tmp_path: Path) -> None:
    """Execution knows who runs what, static found the fault: the finding holds both."""
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "pytest.ini").touch()
    (tmp_path / "test_train.py").write_text(
        "import train\n\n\ndef test_one():\n    assert train.tested(0, 0, 1, 0, 0) == 1\n"
    )
    settings = Settings(root=tmp_path, today=dt.date(2026, 1, 1))
    report = gate.run(settings, stages=("execution", "static"))
    found = [finding for stage in report.stages for finding in stage.findings if finding.rule == "AMP201"]
    assert [finding.untested for finding in found] == ["no test executes `untested`"]
