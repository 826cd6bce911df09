"""A project without tests: the programs that train are run all the same, where the configuration names them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from verifygate.cli import main

pytestmark = pytest.mark.slow
TRAIN = """\
import torch


def train(model, optimizer, loader):
    scaler = torch.amp.GradScaler("cuda")
    for x, y in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = torch.nn.functional.mse_loss(model(x), y)
        scaler.scale(loss).backward()
        UNSCALE
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        scaler.step(optimizer)
        scaler.update()


if __name__ == "__main__":
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1).cuda()
    data = [(torch.randn(8, 4).cuda(), torch.randn(8, 1).cuda()) for _ in range(6)]
    train(model, torch.optim.SGD(model.parameters(), lr=0.01), data)
"""


@pytest.mark.parametrize(("unscale", "code"), [("scaler.unscale_(optimizer)", 0), ("pass", 1)])
def test_entries_are_run_without_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unscale: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.py").write_text(TRAIN.replace("UNSCALE", unscale), encoding="utf-8")
    settings = '[execution.oracles]\nemulated_entries = ["python train.py"]\n'
    (tmp_path / "verifygate.toml").write_text(settings, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["run", "--stage", "execution"]) == code
    report = json.loads((tmp_path / "reports/latest/report.json").read_text(encoding="utf-8"))
    (stage,) = report["stages"]
    found = {check["id"]: check["status"] for check in stage["checks"]}
    assert found["execution.oracle-scale-invariance"] == ("FAIL" if code else "PASS")
    assert "No training step was executed" not in (tmp_path / "reports/latest/gate.md").read_text(encoding="utf-8")
    assert "not run" not in capsys.readouterr().out


def test_where_nothing_trained_the_first_line_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.py").write_text(TRAIN.replace("UNSCALE", "scaler.unscale_(optimizer)"), encoding="utf-8")
    (tmp_path / "test_nothing.py").write_text("def test_nothing():\n    pass\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    main(["run", "--stage", "execution", "--stage", "static"])
    assert "no training step was executed" in capsys.readouterr().out.splitlines()[1]
    page = (tmp_path / "reports/latest/gate.md").read_text(encoding="utf-8")
    assert page.split("\n\n")[2].startswith("No training step was executed")
