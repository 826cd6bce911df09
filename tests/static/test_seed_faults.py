"""Faults put into somebody's code are counted by a script; what is tested is that it makes, finds and names them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import seed_faults

RIGHT = """\
import torch


def train(model, loss_fn, optimizer, batches, callback):
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
"""


def seeded(*arguments: str) -> tuple[dict[str, list[str]], str]:
    """The rows of the table by fault, and what is on stderr."""
    done = subprocess.run(
        [sys.executable, seed_faults.__file__, *arguments],
        env={**os.environ, "PYTHONWARNINGS": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines()[2:]]
    return {row[0]: row[1:] for row in rows}, done.stderr


def test_each_fault_is_made_once_and_found(tmp_path: Path):
    (tmp_path / "train.py").write_text(RIGHT, encoding="utf-8")

    rows, missed = seeded(str(tmp_path))

    assert rows["leave `unscale_` out before the clip"] == ["AMP201", "1", "1", "0"]
    assert rows["leave `update` out"] == ["AMP209", "1", "1", "0"]
    assert rows["do not load the scaler's state"] == ["AMP302", "0", "0", "0"]  # nothing is loaded here
    made, found = (sum(int(row[column]) for fault, row in rows.items() if fault != "all") for column in (1, 2))
    assert rows["all"][1:3] == [str(made), str(found)]
    assert len(missed.splitlines()) == made - found


def test_what_a_file_has_already_is_not_put_there_again(tmp_path: Path):
    (tmp_path / "train.py").write_text(RIGHT.replace("        scaler.unscale_(optimizer)\n", ""), encoding="utf-8")

    rows, _ = seeded(str(tmp_path))

    assert {row[1] for row in rows.values() if row[0] == "AMP201"} == {"0"}


def test_folders_without_amp_and_large_ones_are_left_out(tmp_path: Path):
    (tmp_path / "plain.py").write_text("import torch\n", encoding="utf-8")

    assert seeded(str(tmp_path))[0]["all"][1] == "0"
    (tmp_path / "plain.py").write_text(RIGHT, encoding="utf-8")
    assert seeded(str(tmp_path), "--limit", "10")[0]["all"][1] == "0"
