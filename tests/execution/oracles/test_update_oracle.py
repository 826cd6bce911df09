"""The oracle of updates: each reason to stand still is named, and what only looks like it is not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from verifygate.execution.oracles import update
from verifygate.execution.oracles.answers import Answer
from verifygate.execution.oracles.runs import Job, run_jobs
from verifygate.execution.parameter_movement import movements
from verifygate.model import Status
from verifygate.model.health import Movement
from verifygate.process.subject import Subject

LOOP = """
import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
SETUP
optimizer = torch.optim.AdamW(PARAMETERS, lr=RATE)
scaler = torch.amp.GradScaler("cpu", init_scale=SCALE)
AFTER_SETUP
for number in range(6):
    x = torch.randn(4, 8)
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = FORWARD.float().pow(2).mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    AFTER
"""
DEFAULTS = {
    "SETUP": "",
    "AFTER_SETUP": "",
    "PARAMETERS": "model.parameters()",
    "RATE": "1e-3",
    "SCALE": "256.0",
    "FORWARD": "model(x)",
    "AFTER": "pass",
}
BF16 = """
import torch
torch.manual_seed(0)
model = torch.nn.Linear(64, 64).to(torch.DTYPE)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)
for number in range(8):
    optimizer.zero_grad()
    model(torch.randn(16, 64, dtype=torch.DTYPE)).float().pow(2).mean().backward()
    optimizer.step()
"""


def loop(**changes: str) -> str:
    """The loop with some of its parts replaced."""
    text = LOOP
    for name in sorted(DEFAULTS, key=len, reverse=True):
        text = text.replace(name, changes.get(name, DEFAULTS[name]))
    return text


RIGHT = {
    "plain": loop(),
    "warm_up": loop(
        AFTER_SETUP="s = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: max(0, n - 1))", AFTER="s.step()"
    ),
    "never_above_zero": loop(
        PARAMETERS='[{"params": model[0].parameters()}, {"params": model[2].parameters(), "lr": 0}]'
    ),
    "unused_rows": loop(
        SETUP="rows = torch.nn.Embedding(30000, 8)",
        PARAMETERS="[*model.parameters(), *rows.parameters()]",
        FORWARD="model(rows(torch.tensor([7, 8])))",
    ),
    "sparse_rows": loop(
        SETUP="rows = torch.nn.Embedding(9, 8, sparse=True); plain = torch.optim.SGD(rows.parameters(), 0.1)",
        FORWARD="model(rows(torch.tensor([7, 8])))",
        AFTER="plain.step()",
    ),
    "tied": loop(
        SETUP="model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 8))"
        "; model[1].weight = model[0].weight"
    ),
    "other_path": loop(SETUP="model.aside = torch.nn.Linear(2, 2)", FORWARD="model[2](model[0](x))"),
    "average": loop(
        SETUP="import copy; average = copy.deepcopy(model).requires_grad_(False); list(average.parameters())",
        AFTER="[a.lerp_(p.detach(), 0.1) for a, p in zip(average.parameters(), model.parameters())]",
    ),
    "frozen": loop(SETUP="model[0].requires_grad_(False)"),
    "bfloat16_autocast_weights_float32": BF16.replace("DTYPE", "float32"),
}
FAULTS = {
    "rounded": (BF16.replace("DTYPE", "bfloat16"), Status.PARTIAL, "rounded away: 2 parameters (weight, "),
    "not_optimized": (
        loop(SETUP="list(model.parameters())", PARAMETERS="model[2].parameters()"),
        Status.PARTIAL,
        "in no optimizer: 2 parameters (0.weight; 0.bias)",
    ),
    "overwritten": (
        loop(
            SETUP="old = model[0].weight.detach().clone()",
            AFTER="\n    with torch.no_grad():\n        model[0].weight.copy_(old)",
        ),
        Status.FAIL,
        "overwritten after the step: 1 parameter (0.weight)",
    ),
    "skipped": (loop(SCALE="2.0**60"), Status.NOT_MEASURED, "steps skipped: 4 parameters"),
    "too_small": (loop(RATE="1e-30"), Status.PARTIAL, "stands still: 4 parameters"),
}


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Answer | None, dict[str, Movement]]]:
    """Every program's answer, and what is said of its parameters."""
    root = tmp_path_factory.mktemp("programs")
    programs = RIGHT | {name: text for name, (text, _, _) in FAULTS.items()}
    for name, text in programs.items():
        (root / f"{name}.py").write_text(text, encoding="utf-8")
    instruments = (("recorder", {}), ("health", {"moves": True}))
    jobs = [Job(f"python {name}.py", root, instruments) for name in programs]
    runs = run_jobs(Subject(root, Path(sys.executable)), jobs, tmp_path_factory.mktemp("private"), parallel=1)
    assert not [run.ending for run in runs if run.error]
    return {
        name: (update.judge(run), {each.name: each.movement for each in movements(run.events)})
        for name, run in zip(programs, runs, strict=True)
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_passes(seen, name: str):
    answer, _ = seen[name]
    assert answer is not None
    assert answer.status is Status.PASS, answer.actual


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_what_stands_still_is_named_with_its_reason(seen, name: str):
    answer, _ = seen[name]
    _, status, words = FAULTS[name]
    assert answer is not None
    assert (answer.status, answer.actual.startswith(words)) == (status, True), answer.actual
    assert answer.remedy


@pytest.mark.slow
def test_what_is_told_without_blame(seen):
    assert set(seen["average"][1].values()) == {Movement.MOVED, Movement.FROZEN_MOVED}
    assert seen["frozen"][1]["0.weight"] is Movement.FROZEN
    assert seen["other_path"][1]["aside.weight"] is Movement.NO_GRADIENT
    assert seen["never_above_zero"][1]["weight (another Linear)"] is Movement.RATE_ZERO
