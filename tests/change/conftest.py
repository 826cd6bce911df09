"""A repository with one old fault, and what its gate says."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

FAULTY = """\
import torch


def train(model, optimizer, scaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
"""


class Repository:
    """A folder under git."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def git(self, *arguments: str) -> str:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always"]
        command = ["git", "-C", str(self.folder), *identity, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def write(self, path: str, text: str) -> None:
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_text(text, encoding="utf-8")

    def commit(self, **files: str) -> str:
        """Write files (`test_a__py` for `test_a.py`), commit everything, and return the commit."""
        for name, text in files.items():
            self.write(name.replace("__", "."), text)
        self.git("add", "-A")
        self.git("commit", "-qm", "a commit", "--allow-empty")
        return self.git("rev-parse", "HEAD")

    @property
    def report(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "reports/latest/report.json").read_text(encoding="utf-8"))
        return found

    @property
    def page(self) -> str:
        return (self.folder / "reports/latest/gate.md").read_text(encoding="utf-8")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    made = Repository(tmp_path)
    made.git("init", "-q", "-b", "main")
    made.write(".gitignore", "reports/\n")
    made.commit(old__py=FAULTY)
    monkeypatch.chdir(tmp_path)
    return made
