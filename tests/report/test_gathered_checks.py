"""What nobody requires and is much is one line: an advisory specification does not bury what matters."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifygate.cli import main

SOUND = """\
import torch


def train(model, optimizer, scaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()
"""


def test_an_advisory_specification_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.py").write_text(SOUND, encoding="utf-8")
    (tmp_path / "requirements.yaml").write_text(
        "title: T\nextends: amp-core\nadvisory: true\nrequirements: []\n", encoding="utf-8"
    )
    (tmp_path / "verifygate.toml").write_text('[requirements]\nspec = "requirements.yaml"\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["run", "--stage", "static", "--stage", "requirements"]) == 0
    told = [line for line in capsys.readouterr().out.splitlines() if "requirements" in line and "not shown" in line]
    assert len(told) == 1
    assert told[0].endswith("none of which blocks by itself")
    page = (tmp_path / "reports/latest/gate.md").read_text(encoding="utf-8")
    assert page.count("`requirements.AMP-01` (") == 0
    assert "- [requirements](requirements.md): " in page
