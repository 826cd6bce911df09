"""The oracles let right loops pass and see the faults that change weights; all programs run in one go."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from oracle_programs import FAULTS, PROGRAMS, RIGHT_ONES, UNSEEN, line, program

from verifygate.config.settings import OraclesSettings
from verifygate.execution.oracles.answers import Answer
from verifygate.execution.oracles.planning import INF, SCALE, SCHEDULE, Entry, examine
from verifygate.model import Status
from verifygate.process.subject import Subject

pytestmark = pytest.mark.slow

SEEN: dict[str, tuple[str, str, str]] = {
    "clip_before_unscale": (SCALE, "AMP201", "clip_grad_norm_"),
    "clip_without_unscale": (SCALE, "AMP201", "clip_grad_norm_"),
    "value_clip": (INF, "AMP201", "clip_grad_value_"),
    "nan_to_num": (INF, "AMP201", "nan_to_num_"),
    "noise": (SCALE, "AMP201", "add_(0.01)"),
    "direct_step": (SCALE, "AMP207", "optimizer.step()"),
    "direct_step_after_unscale": (INF, "AMP207", "optimizer.step()"),
    "double_step": (INF, "AMP208", "optimizer.step()"),
    "unscaled_backward": (SCALE, "AMP206", "loss.backward()"),
    "never_zeroed": (SCALE, "AMP212", ".backward()"),
    "zeroed_before_step": (INF, "AMP212", "scaler.step"),
    "unscale_between_backwards": (SCALE, "AMP203", ".backward()"),
    "update_between_backwards": (SCALE, "AMP210", ".backward()"),
    "penalty": (SCALE, "AMP205", "autograd.grad"),
    "schedule": (SCHEDULE, "AMP213", "scheduler.step()"),
    "no_update": (SCALE, "AMP209", "scaler.step"),
    "double_unscale": (SCALE, "AMP202", "unscale_"),
    "guard_without_update": (INF, "AMP214", "unscale_"),
    "scaler_rebuilt": ("edge-overflow-streak", "AMP301", "GradScaler"),
}
"""Fault -> the oracle that sees it, the rule it blames, and the line it names."""


@pytest.fixture(scope="module")
def entries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Entry]:
    """Every program, examined."""
    root, names = tmp_path_factory.mktemp("programs"), list(PROGRAMS)
    for name in names:
        (root / f"{name}.py").write_text(program(name), encoding="utf-8")
    entries = {name: Entry(root, f"python {name}.py") for name in names}
    subject = Subject(root, Path(sys.executable))
    examine(subject, OraclesSettings(), list(entries.values()), tmp_path_factory.mktemp("private"))
    return entries


@pytest.mark.parametrize("name", RIGHT_ONES)
def test_a_right_loop_passes_both_oracles(entries: dict[str, Entry], name: str):
    answers = entries[name].answers

    assert {question: answers[question].status for question in (SCALE, INF)} == {SCALE: Status.PASS, INF: Status.PASS}
    assert not [blame for answer in answers.values() for blame in answer.blames]
    assert "the same bits" in answers[SCALE].actual


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_seen_and_its_line_is_named(entries: dict[str, Entry], name: str):
    question, rule, part = SEEN[name]
    answer = entries[name].answers[question]

    assert answer.status in (Status.FAIL, Status.PARTIAL)
    assert (rule, line(name, part)) in {(blame.violation, blame.place[1]) for blame in answer.blames}
    assert {Path(blame.place[0]).name for blame in answer.blames} == {f"{name}.py"}


@pytest.mark.parametrize("name", UNSEEN)
def test_what_no_oracle_can_see_passes(entries: dict[str, Entry], name: str):
    """docs/oracles.md says so; when an oracle learns to see one of these, the page has to be told."""
    answers = entries[name].answers

    assert answers[SCALE].status is Status.PASS
    assert answers[INF].status is Status.PASS


def test_a_scaler_that_is_off_is_switched_on(entries: dict[str, Entry]):
    """The lines of the loop are the same, so a machine without CUDA can try them with a live scaler."""
    for name in ("in_bfloat16", "for_cuda"):
        assert "the scaler, off here, was switched on" in entries[name].answers[SCALE].actual
    assert entries["for_cuda"].answers["edge-no-cuda"].status is Status.PARTIAL


def test_edge_cases_of_the_right_loop(entries: dict[str, Entry]):
    answers = {name: answer for name, answer in entries["right"].answers.items() if name.startswith("edge-")}

    assert {answer.status for answer in answers.values()} == {Status.PASS}
    assert "the loss scale collapsed" in answers["edge-overflow-streak"].actual
    assert "Attempting to unscale FP16 gradients" in answers["edge-half-parameters"].actual
    assert set(answers) == {
        "edge-nan-loss",
        "edge-overflow-streak",
        "edge-no-cuda",
        "edge-mps-only",
        "edge-half-parameters",
    }


def test_a_scale_that_sinks_without_a_word(entries: dict[str, Entry], tmp_path: Path):
    """Without a floor, the scale reaches zero and takes the weights along."""
    text = program("right").replace(
        "    if scale < 1:\n        raise RuntimeError", "    if False:\n        raise RuntimeError"
    )
    (tmp_path / "train.py").write_text(text, encoding="utf-8")
    entry = Entry(tmp_path, "python train.py")
    examine(Subject(tmp_path, Path(sys.executable)), OraclesSettings(), [entry], tmp_path / "private")
    answer: Answer = entry.answers["edge-overflow-streak"]

    assert answer.status in (Status.FAIL, Status.PARTIAL)
    assert "scale" in answer.actual
    assert answer.remedy.startswith("stop when the scale falls below a floor")


DIES_AT_AN_OVERFLOW = """\
import torch


class Tracker:
    pass


torch.manual_seed(0)
tracker, model = Tracker(), torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
for x in torch.randn(400, 4, 4):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = model(x).float().pow(2).mean()
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    if torch.isfinite(torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)):
        scaler.step(optimizer)
    else:
        {refusal}
    scaler.update()
"""


@pytest.mark.parametrize(
    ("refusal", "status"),
    [("tracker.log_scalar('overflow', 1.0)", Status.FAIL), ("raise RuntimeError('overflow')", Status.PASS)],
)
def test_a_run_that_dies_in_its_overflow_branch_has_refused_nothing(tmp_path: Path, refusal: str, status: Status):
    """An attribute that is missing there is a fault; the same branch may stop the run with a word of its own."""
    (tmp_path / "train.py").write_text(DIES_AT_AN_OVERFLOW.format(refusal=refusal), encoding="utf-8")
    entry = Entry(tmp_path, "python train.py")
    examine(Subject(tmp_path, Path(sys.executable)), OraclesSettings(), [entry], tmp_path / "private")
    edges = {name: entry.answers[f"edge-{name}"] for name in ("nan-loss", "overflow-streak")}

    assert {answer.status for answer in edges.values()} == {status}
    assert entry.answers[INF].status is Status.FAIL
    if status is Status.FAIL:
        remedies = {answer.remedy for answer in (*edges.values(), entry.answers[INF])}
        assert remedies == {"give `Tracker` the attribute `log_scalar`, or use one it has (train.py:21)"}


ACCELERATED = """\
import torch
from accelerate import Accelerator

accelerator = Accelerator(mixed_precision="fp16")
model = torch.nn.Linear(4, 1)
model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.1))
for x in torch.randn(8, 4, 4, device=accelerator.device):
    optimizer.zero_grad()
    accelerator.backward(model(x).mean())
    optimizer.step()
"""


def test_accelerate_without_cuda_trains_in_float32_without_a_word(tmp_path: Path):
    pytest.importorskip("accelerate")
    (tmp_path / "train.py").write_text(ACCELERATED, encoding="utf-8")
    entry = Entry(tmp_path, "python train.py")
    examine(Subject(tmp_path, Path(sys.executable)), OraclesSettings(), [entry], tmp_path / "private")
    answer: Answer = entry.answers["edge-no-cuda"]

    assert answer.status is Status.PARTIAL
    assert answer.actual.startswith("Accelerate was asked for fp16, and trains in float32 without a word")
