"""`verifygate contract`: the lines that `check` prints of the contract, alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifygate.cli import main

TRAIN = """
import torch

def train(model, batches):
    optimizer = torch.optim.AdamW(model.parameters())
    for inputs in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(inputs).mean()
        loss.backward()
        optimizer.step()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_it_prints_what_check_prints_of_the_contract(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "train.py").write_text(TRAIN, encoding="utf-8")
    assert main(["contract", "train.py"]) == 0
    alone = capsys.readouterr().out
    main(["check", "--no-cache", "train.py"])
    assert "compute         bfloat16 (train.py:8)" in alone
    assert alone in capsys.readouterr().out


def test_where_nothing_is_declared_it_says_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "plain.py").write_text("print(1)\n", encoding="utf-8")
    assert main(["contract"]) == 0
    assert capsys.readouterr().out == "Nothing here declares a precision.\n"


def test_a_file_that_could_not_be_read_is_no_answer(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "broken.py").write_text("import torch\ntorch.autocast(\n", encoding="utf-8")
    assert main(["contract"]) == 2
    assert "not analysed: broken.py" in capsys.readouterr().err
