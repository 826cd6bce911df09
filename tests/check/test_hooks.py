"""The hooks that `.pre-commit-hooks.yaml` offers, called as pre-commit calls them."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from verifygate.check.options import plain_options
from verifygate.cli import main

ROOT = Path(__file__).parents[2]
HOOKS: list[dict[str, Any]] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
HELPER = "import torch\n\n\ndef clip(model):\n    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n"
OLD = "import torch\n\nscaler = torch.cuda.amp.GradScaler()\n"
TRAIN = """\
from torch.amp import GradScaler

from helper import clip


def train(model, optimizer, batches):
    scaler = GradScaler("cuda")
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        clip(model)
        scaler.step(optimizer)
        scaler.update()
"""


def git(*arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", *identity, *arguments], check=True, capture_output=True)


def hook(name: str, *staged: str) -> int:
    (entry,) = (each["entry"] for each in HOOKS if each["id"] == name)
    started, check, words = entry.partition(" check")
    assert (started, check) == ("python -I -m verifygate", " check")
    arguments = words.split()
    assert plain_options([*arguments, *staged]) is not None, "a hook starts without click"
    return main(["check", *arguments, *staged])


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A commit with old, low debt; staged is a call of a helper that is not."""
    monkeypatch.chdir(tmp_path)
    git("init", "-q")
    Path("helper.py").write_text(HELPER, encoding="utf-8")
    Path("old.py").write_text(OLD, encoding="utf-8")
    git("add", ".")
    git("commit", "-qm", "first")
    Path("train.py").write_text(TRAIN, encoding="utf-8")
    Path("old.py").write_text(f"# a note\n{OLD}", encoding="utf-8")
    git("add", ".")
    return tmp_path


def test_the_fault_in_a_helper_that_is_not_staged_is_found(project: Path, capsys: pytest.CaptureFixture[str]):
    assert hook("verifygate", "train.py", "old.py") == 1
    told = capsys.readouterr().out
    assert "helper.py:5:5: AMP201" in told
    assert "old.py:4:10: AMP501" in told


def test_old_debt_stops_no_commit(project: Path, capsys: pytest.CaptureFixture[str]):
    assert hook("verifygate-new", "old.py") == 0
    assert "1 stood before" in capsys.readouterr().out
    assert hook("verifygate-new", "train.py", "old.py") == 1
    told = capsys.readouterr().out
    assert "helper.py:5:5: AMP201" in told
    assert "AMP501" not in told


def test_before_the_first_commit_everything_is_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    git("init", "-q")
    Path("old.py").write_text(OLD, encoding="utf-8")
    git("add", ".")

    assert hook("verifygate-new", "old.py") == 1
