"""Two real ranks under torchrun, with gloo, on this machine's CPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from reference_impl.config import read_config
from reference_impl.tests.ddp_worker import RUNS
from reference_impl.train import train

Reports = list[dict[str, dict[str, object]]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What two ranks left behind: see ddp_worker. One launch for all tests, for it takes seconds."""
    folder = tmp_path_factory.mktemp("two_ranks")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2"]
    ranks = subprocess.Popen(
        [*command, "-m", "reference_impl.tests.ddp_worker", str(folder)],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        output, _ = ranks.communicate(timeout=100)
    except subprocess.TimeoutExpired:
        ranks.terminate()  # torchrun then ends its ranks; a kill would leave them behind
        output, _ = ranks.communicate()
    assert ranks.returncode == 0, output
    return folder


@pytest.fixture(scope="module")
def reports(folder: Path) -> Reports:
    """What each of the ranks did when the loss was broken on the second alone."""
    return [json.loads((folder / f"rank{rank}.json").read_text()) for rank in (0, 1)]


def both(folder: Path, tmp_path: Path, name: str) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Checkpoint and metrics of a run on one rank, made here, and of the same run on two."""
    train(read_config([*RUNS[name], f"--out_dir={tmp_path}"]))
    found = []
    for out in (tmp_path, folder / name):
        state = torch.load(out / "checkpoint.pt", weights_only=True)
        found.append((state, [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()[1:]]))
    return found


def test_two_ranks_train_what_one_rank_trains(folder: Path, tmp_path: Path) -> None:
    """In windows of two micro-batches, with a short one at the end of the epoch."""
    (one, one_log), (two, two_log) = both(folder, tmp_path, "fp32")
    assert len(two["rng"]) == 2
    for name, tensor in one["model"].items():
        torch.testing.assert_close(two["model"][name], tensor, rtol=1e-4, atol=1e-5)
    assert len(one_log) == len(two_log)
    for a, b in zip(one_log[:-1], two_log[:-1], strict=True):
        assert a["train/loss"] == pytest.approx(b["train/loss"], rel=1e-5)
        assert a["train/grad_norm"] == pytest.approx(b["train/grad_norm"], rel=1e-4)
    assert one_log[-1] == two_log[-1]  # the accuracy, to which both ranks contributed


@pytest.mark.requirement("EDGE-03")
def test_two_ranks_skip_the_steps_that_one_rank_skips(folder: Path, tmp_path: Path) -> None:
    (one, one_log), (two, two_log) = both(folder, tmp_path, "fp16")
    assert one["skipped"] > 0
    for key in ("step", "skipped", "scaler", "data_position"):
        assert one[key] == two[key]
    for a, b in zip(one_log[:-1], two_log[:-1], strict=True):
        assert (a["window"], a["amp/loss_scale"]) == (b["window"], b["amp/loss_scale"])
        assert a["train/loss"] == pytest.approx(b["train/loss"], rel=1e-2)


@pytest.mark.requirement("EDGE-04")
@pytest.mark.parametrize("case", ["fp32", "bf16", "loss alone"])
def test_all_ranks_stop_when_one_is_broken(reports: Reports, case: str) -> None:
    assert [report[case] for report in reports] == [{"outcome": "stopped", "unmoved": True, "scale": 1.0}] * 2


@pytest.mark.requirement("EDGE-03")
def test_all_ranks_skip_when_one_overflows(reports: Reports) -> None:
    assert [report["fp16"] for report in reports] == [{"outcome": "skipped", "unmoved": True, "scale": 32768.0}] * 2


def test_gradients_are_reduced_once_a_window(reports: Reports) -> None:
    assert [report["reductions"] for report in reports] == [1, 1]
