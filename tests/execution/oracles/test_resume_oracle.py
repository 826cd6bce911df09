"""A resumed run is the unbroken one, or the state that was not restored is named. All programs run for real."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from verifygate.config.settings import OraclesSettings, ResumeSettings
from verifygate.execution.oracles.answers import Answer
from verifygate.execution.oracles.resume import questions
from verifygate.execution.oracles.runs import answered
from verifygate.execution.oracles.step import ask_the_oracles
from verifygate.execution.scrub import Scrubber
from verifygate.model import Status
from verifygate.process.subject import Subject
from verifygate.sources.discovery import read_sources

pytestmark = pytest.mark.slow

RIGHT = """\
import random
import sys

import torch
from torch import nn

torch.manual_seed(1)
random.seed(1)
model = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Dropout(0.2), nn.Linear(8, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 20)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**8, growth_interval=2)
data = torch.randn(64, 6, generator=torch.Generator().manual_seed(5))
start = 0
if sys.argv[2:] == ["--resume"]:
    state = torch.load(sys.argv[1] + "/last.pt", weights_only=False)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    scheduler.load_state_dict(state["scheduler"])
    scaler.load_state_dict(state["scaler"])
    torch.set_rng_state(state["random"])
    start = state["step"]
for step in range(start, 12):
    batch = data[step * 4 : step * 4 + 4]
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = nn.functional.mse_loss(model(batch).float(), batch.sum(1, keepdim=True))
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    scheduler.step()
    if step % 3 == 2:
        torch.save(
            {
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "scheduler": scheduler.state_dict(),
                "scaler": scaler.state_dict(),
                "random": torch.get_rng_state(),
                "step": step + 1,
            },
            sys.argv[1] + "/last.pt",
        )
"""
LOST = {
    "the weights": '    model.load_state_dict(state["model"])\n',
    "the optimizer's state": '    optimizer.load_state_dict(state["optimizer"])\n',
    "the schedule": '    scheduler.load_state_dict(state["scheduler"])\n',
    "the loss scale": '    scaler.load_state_dict(state["scaler"])\n',
    "the scaler's growth tracker": '    scaler.load_state_dict(state["scaler"])\n',
    "the position in the data": '    start = state["step"]\n',
    "the random state": '    torch.set_rng_state(state["random"])\n',
}
"""What is named -> the line whose absence loses it."""


PROGRAMS = {"right": RIGHT, "unsaved": RIGHT.replace("step % 3 == 2", "False")} | {
    name: RIGHT.replace(lost, "") for name, lost in LOST.items()
}


def commands(script: str) -> ResumeSettings:
    train = f"python {script} {{temporary}}"
    return ResumeSettings(train=train, resume=f"{train} --resume")


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Answer]:
    """Every program's."""
    root = tmp_path_factory.mktemp("programs")
    for number, text in enumerate(PROGRAMS.values()):
        (root / f"train{number}.py").write_text(text, encoding="utf-8")
    settings = OraclesSettings(steps=4, resume=tuple(commands(f"train{at}.py") for at in range(len(PROGRAMS))))
    confined = Subject(root, Path(sys.executable), isolation="auto")
    private = tmp_path_factory.mktemp("private")
    found = answered(confined, private, questions(settings, root, private))
    return dict(zip(PROGRAMS, found, strict=True))


def test_a_run_that_restores_everything_is_the_unbroken_run(answers: dict[str, Answer]) -> None:
    found = answers["right"]

    assert found.status is Status.PASS, found
    assert found.actual == "resumed after step 3, the next 4 steps: the same bits as in the unbroken run"


@pytest.mark.parametrize("name", LOST)
def test_the_state_that_was_not_restored_is_named(answers: dict[str, Answer], name: str) -> None:
    found = answers[name]

    assert found.status is Status.FAIL, found
    assert name in found.actual
    assert not [other for other, lost in LOST.items() if lost != LOST[name] and other in found.actual]


def test_nothing_saved_is_not_measured(answers: dict[str, Answer]) -> None:
    assert answers["unsaved"].status is Status.NOT_MEASURED
    assert "nothing was saved" in answers["unsaved"].actual


def test_it_is_a_check_of_the_gate(tmp_path: Path) -> None:
    text = RIGHT.replace(LOST["the loss scale"], "")
    (tmp_path / "train.py").write_text(text, encoding="utf-8")
    asked = commands("train.py")
    examined = ask_the_oracles(
        Subject(tmp_path, Path(sys.executable)),
        OraclesSettings(steps=3, resume=(asked,)),
        read_sources(tmp_path, ("train.py",)),
        Scrubber(tmp_path, tmp_path / "private"),
        tmp_path / "private",
    )

    check = examined.checks[-1]
    assert (check.id, check.status, check.required) == ("execution.oracle-resume", Status.FAIL, True)
    assert check.evidence[0].path == "train.py"
    assert "torch.save" in text.splitlines()[(check.evidence[0].line or 0) - 1]
    assert examined.entries == (f"{asked.train}, then {asked.resume}",)
