"""What stages know apart and say together: a finding in a function that no test executes says so."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from verifygate.config.settings import Settings
from verifygate.gate import run

TRAIN = '''"""Clips before it unscales, in two functions."""


def tested(scaler, optimizer, loss, parameters, clip_grad_norm_):
    return loss


def untested(loader, model, optimizer):
    from torch.amp import GradScaler, autocast
    from torch.nn.utils import clip_grad_norm_

    scaler = GradScaler("cuda")
    for batch in loader:
        optimizer.zero_grad()
        with autocast("cuda"):
            loss = model(batch).mean()
        scaler.scale(loss).backward()
        clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
'''


@pytest.mark.slow
def test_a_finding_in_an_untested_function_says_so(tmp_path: Path) -> None:
    """Execution knows who runs what, static found the fault: the finding holds both."""
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "pytest.ini").touch()
    (tmp_path / "test_train.py").write_text(
        "import train\n\n\ndef test_one():\n    assert train.tested(0, 0, 1, 0, 0) == 1\n"
    )
    settings = Settings(root=tmp_path, today=dt.date(2026, 1, 1))
    report = run.run(settings, run.RunOptions(stages=("execution", "static")))
    found = [finding for stage in report.stages for finding in stage.findings if finding.rule == "AMP201"]
    assert [finding.untested for finding in found] == ["no test executes `untested`"]


TEST = """\
import torch
from train import train


def test_train():
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    train(model, optimizer, torch.amp.GradScaler("cpu", init_scale=4.0), [torch.ones(2, 4)] * 4)
"""
UPDATED_IN_SECRET = """\
import torch

finish = "up" + "date"


def train(model, optimizer, scaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = model(batch).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        getattr(scaler, finish)()
"""
AMP_WITHOUT_ITS_NAMES = """\
def train(model, optimizer, helper, batches):
    multiply, advance, adapt = (getattr(helper, name) for name in ("scale", "step", "update"))
    for batch in batches:
        optimizer.zero_grad()
        multiply(model(batch).mean()).backward()
        advance(optimizer)
        adapt()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "name", "reason"),
    [
        (UPDATED_IN_SECRET, "static-fault-not-seen-in-run", ("finding", "train.py", 12)),
        (AMP_WITHOUT_ITS_NAMES, "amp-not-found-in-source", ("check-partial", "train.py", 6)),
    ],
)
def test_the_source_and_the_run_contradict_each_other(
    source: str, name: str, reason: tuple[str, str, int], tmp_path: Path
) -> None:
    """The scaler is never updated, and was; there is no AMP, and a scaler stepped. Each is told, and blocks."""
    for path, text in {"train.py": source, "test_train.py": TEST, "pytest.ini": ""}.items():
        (tmp_path / path).write_text(text, encoding="utf-8")
    report = run.run(Settings(root=tmp_path, today=dt.date(2026, 1, 1)), run.RunOptions(stages=("execution", "static")))
    assert [each.name for each in report.contradictions] == [name]
    assert [(each.condition, each.path, each.line) for each in report.reasons] == [reason]
