"""What `--fail-on` lets pass is no failure in any format, and `check` says where `run` would not block."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from verifygate.cli import main

LOW = """\
import torch


def train(model, optimizer, loader, scaler):
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = torch.nn.functional.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        total += loss.item()
    return total
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "train.py").write_text(LOW, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_fails_only_check_says_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check"]) == 1
    assert "none would block `run`: `--fail-on high,certain` lets them pass" in capsys.readouterr().out


@pytest.mark.parametrize(("options", "failures"), [((), 1), (("--fail-on", "high"), 0)])
def test_junit_fails_where_check_does(
    folder: Path, options: tuple[str, ...], failures: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "--format", "junit", *options]) == (1 if failures else 0)
    root = ET.fromstring(capsys.readouterr().out)  # noqa: S314 - made here
    assert len(root.findall(".//failure")) == failures
