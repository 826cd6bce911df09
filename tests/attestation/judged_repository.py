"""A repository, and the gate's report on it."""

from __future__ import annotations

import subprocess
from pathlib import Path

from verifygate.cli import main

CLEAN = """\
import torch


def train(model, optimizer, scaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
"""
FAULTY = CLEAN.replace(
    "        scaler.step(", "        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n        scaler.step("
)
CONFIG = '[project]\nname = "trainer"\nsources = ["train.py"]\n'


class Judged:
    """A folder under git, and the gate's report on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.report = folder / "reports/latest/report.json"

    def git(self, *arguments: str) -> str:
        command = ["git", "-C", str(self.folder), "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def commit(self, **files: str) -> str:
        """Write files (`train__py` for `train.py`), commit everything, and return the commit."""
        for name, text in files.items():
            (self.folder / name.replace("__", ".")).write_text(text, encoding="utf-8")
        self.git("add", "-A")
        self.git("commit", "-qm", "a commit")
        return self.git("rev-parse", "HEAD")

    def run(self, *options: str) -> int:
        stage = () if "--stage" in options else ("--stage", "static")
        return main(["run", *stage, "--format", "json", *options])
