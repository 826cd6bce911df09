"""The oracle of numbers: what overflows at any loss scale is a failure, a scale that is being found is none."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from verifygate.config.settings import OraclesSettings
from verifygate.execution.oracles import ask_the_oracles
from verifygate.execution.scrub import Scrubber
from verifygate.model import Check, EvidenceClass, Status
from verifygate.process.subject import Subject
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources

pytest.importorskip("torch")

LOOP = """
import torch
torch.manual_seed(0)
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-9)
scaler = torch.amp.GradScaler("cpu", init_scale=SCALE)
for step in range(8):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        output = model(torch.ones(4, 8))
    loss = LOSS
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""
LINE = LOOP.splitlines().index("        output = model(torch.ones(4, 8))") + 1


def asked(folder: Path, scale: str, loss: str) -> Check | None:
    """The check of the oracle on one program."""
    program = folder / "project" / "train.py"
    program.parent.mkdir()
    program.write_text(LOOP.replace("SCALE", scale).replace("LOSS", loss), encoding="utf-8")
    sources = Sources([SourceFile("train.py", program.read_bytes())])
    private = folder / "private"
    private.mkdir()
    examined = ask_the_oracles(
        Subject(program.parent, Path(sys.executable)),
        OraclesSettings(entries=("python train.py",)),
        sources,
        Scrubber(program.parent, private),
        private / "oracles",
    )
    return next((each for each in examined.checks if each.id == "execution.oracle-numbers"), None)


@pytest.mark.slow
def test_what_overflows_at_any_scale_fails_and_says_where(tmp_path: Path) -> None:
    check = asked(tmp_path, "65536.0", "output.float().sum() * 5e9")
    assert check is not None
    assert (check.status, check.required) == (Status.FAIL, True)
    assert "the scaler skipped 6 of 6 steps" in check.actual
    assert "at any loss scale, train.py:" in check.actual
    places = {(each.path, each.line) for each in check.evidence if each.path}
    assert places <= {("train.py", LINE), ("train.py", LINE + 1)}
    assert places
    assert "float32" in check.remedy


@pytest.mark.slow
def test_a_scale_that_is_being_found_is_no_fault(tmp_path: Path) -> None:
    check = asked(tmp_path, "2.0**19", "output.float().sum()")
    assert check is not None
    assert (check.status, check.required) == (Status.PASS, False), check.actual
    assert "the loss scale" in check.actual
    assert all(each.kind is EvidenceClass.EXECUTED for each in check.evidence)


@pytest.mark.slow
def test_where_nothing_is_skipped_nothing_is_said(tmp_path: Path) -> None:
    assert asked(tmp_path, "256.0", "output.float().sum()") is None
