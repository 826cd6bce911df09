"""Two real ranks under torchrun, with gloo, on this machine's CPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from reference_impl.config import read_config
from reference_impl.train import train

SMALL = [
    "--device=cpu", "--width=32", "--heads=2", "--layers=1", "--train_items=112", "--eval_items=51", "--batch_size=16",
    "--steps=6", "--warmup=2", "--log_every=1",
]  # fmt: skip
OVERFLOWING = [*SMALL, "--precision=fp16", "--init_scale=1073741824"]


def torchrun(*arguments: str) -> None:
    """Start two ranks on the loopback interface and wait for them."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", "-m", *arguments]
    done = subprocess.run(
        command, env=os.environ | {"OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_two_ranks_train_what_one_rank_trains(tmp_path: Path) -> None:
    """In windows of two micro-batches, and a short one at the end of the epoch."""
    torchrun("reference_impl.train", *SMALL, f"--out_dir={tmp_path / 'two'}")
    train(read_config([*SMALL, f"--out_dir={tmp_path / 'one'}"]))
    one, two = (torch.load(tmp_path / name / "checkpoint.pt", weights_only=True) for name in ("one", "two"))
    assert len(two["rng"]) == 2
    for name, tensor in one["model"].items():
        torch.testing.assert_close(two["model"][name], tensor, rtol=1e-4, atol=1e-5)
    assert_same_metrics(tmp_path / "one", tmp_path / "two", relative=1e-5)


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which ddp_worker left its reports."""
    folder = tmp_path_factory.mktemp("worker")
    torchrun("reference_impl.tests.ddp_worker", str(folder), *OVERFLOWING, f"--out_dir={folder / 'two'}")
    return folder


@pytest.fixture(scope="module")
def reports(worker: Path) -> list[dict[str, dict[str, object]]]:
    """What each of two ranks did when the loss was NaN on the second alone."""
    return [json.loads((worker / f"rank{rank}.json").read_text()) for rank in (0, 1)]


@pytest.mark.requirement("EDGE-03")
def test_two_ranks_skip_the_steps_that_one_rank_skips(worker: Path) -> None:
    train(read_config([*OVERFLOWING, f"--out_dir={worker / 'one'}"]))
    one, two = (torch.load(worker / name / "checkpoint.pt", weights_only=True) for name in ("one", "two"))
    for key in ("step", "skipped", "scaler", "data_position"):
        assert one[key] == two[key]
    assert one["skipped"] > 0
    assert_same_metrics(worker / "one", worker / "two", relative=1e-2)


def assert_same_metrics(one: Path, two: Path, relative: float) -> None:
    """Line by line the same windows, losses and accuracy in both logs."""
    logs = [(folder / "log.jsonl").read_text().splitlines()[1:] for folder in (one, two)]
    for a, b in zip(*(map(json.loads, log) for log in logs), strict=True):
        assert a.keys() == b.keys()
        assert a["window"] == b["window"]
        assert a.get("train/loss") == pytest.approx(b.get("train/loss"), rel=relative)
        assert a.get("final/accuracy") == pytest.approx(b.get("final/accuracy"), abs=0.05)


@pytest.mark.requirement("EDGE-04")
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_all_ranks_stop_when_one_is_broken(reports: list[dict[str, dict[str, object]]], precision: str) -> None:
    assert [report[precision] for report in reports] == [{"outcome": "stopped", "unmoved": True, "scale": 1.0}] * 2


@pytest.mark.requirement("EDGE-03")
def test_all_ranks_skip_when_one_overflows(reports: list[dict[str, dict[str, object]]]) -> None:
    assert [report["fp16"] for report in reports] == [{"outcome": "skipped", "unmoved": True, "scale": 32768.0}] * 2


def test_gradients_are_reduced_once_a_window(reports: list[dict[str, dict[str, object]]]) -> None:
    assert [report["reductions"] for report in reports] == [1, 1]
