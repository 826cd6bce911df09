"""A fix that cannot be built, for whatever reason, costs itself: never the check."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from verifygate.base.failures import VARIABLE
from verifygate.cli import main
from verifygate.fix import new_amp_api

FIXABLE = "from torch.cuda.amp import GradScaler\n\nscaler = GradScaler()\n"
DEEP = {
    "calls": f"x = {'f(' * 150}1{')' * 150}\n",
    "lists": f"x = {'[' * 150}1{']' * 150}\n",
    "form-feed": "def f():\n\x0c    return 1\n",
    "form-feed-behind": "def f():\n    return 1\n\x0c\n",
    "sums": f"x = {'1 + ' * 100}1\n",
}


def checked(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str) -> dict:
    (folder / "train.py").write_text(text, encoding="utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.delenv(VARIABLE)
    assert main(["check", "--no-cache", "--format", "json", "train.py"]) == 1
    (finding,) = [each for each in json.loads(capsys.readouterr().out)["findings"] if each["rule"] == "AMP501"]
    return finding


@pytest.mark.parametrize("shape", DEEP)
def test_deep_nesting_beside_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], shape: str
) -> None:
    """The finding is told whether or not libcst can read the file; `fix` says why it cannot."""
    finding = checked(tmp_path, monkeypatch, capsys, f"{FIXABLE}\n\n{DEEP[shape]}")
    if shape in ("calls", "lists"):
        assert finding["fix"] == "safe"
    assert main(["fix", "--diff", "train.py"]) in (0, 1)
    assert "Traceback" not in capsys.readouterr().err


def test_a_fix_that_breaks_costs_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise KeyError("x")

    monkeypatch.setattr(new_amp_api, "draft", broken)
    assert checked(tmp_path, monkeypatch, capsys, FIXABLE)["fix"] is None
    main(["fix", "--diff", "train.py"])
    assert "the fix broke, which is a fault of verifygate's own: KeyError" in capsys.readouterr().err
