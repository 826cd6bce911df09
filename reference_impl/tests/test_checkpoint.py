"""A resumed run is the uninterrupted one, bit for bit, or it does not start."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from reference_impl import checkpoint
from reference_impl.config import Config
from reference_impl.errors import CheckpointError
from reference_impl.train import train

Small = Callable[..., Config]


def saved(cfg: Config) -> dict[str, Any]:
    state: dict[str, Any] = torch.load(Path(cfg.out_dir) / "checkpoint.pt", weights_only=True)
    return state


def same(a: object, b: object) -> bool:
    """Equal to the last bit, through all nesting."""
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and a.dtype == b.dtype and torch.equal(a, b)
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    return a == b


@pytest.mark.requirement("CKPT-01")
@pytest.mark.requirement("CKPT-02")
@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
def test_resuming_equals_never_having_stopped(small: Small, tmp_path: Path, precision: str) -> None:
    # Dropout needs the generator's state; a scale that overflows at first and grows after three clean steps needs
    # the scaler's; the learning rate needs the schedule's; and 5 is in the middle of an epoch of 4 windows.
    keys: dict[str, Any] = {
        "precision": precision, "dropout": 0.2, "steps": 12, "log_every": 1,
        "init_scale": 2.0**26, "growth_interval": 3,
    }  # fmt: skip
    whole = small(**keys, out_dir=str(tmp_path / "whole"))
    first = small(**keys, out_dir=str(tmp_path / "parts"), stop_at=5)
    second = small(**keys, out_dir=str(tmp_path / "parts"), resume=True)

    expected = train(whole)
    assert train(first).step == 5
    assert train(second) == expected

    ends = [saved(whole), saved(second)]
    for end in ends:
        del end["config"]
    assert same(*ends)
    assert ends[0]["scaler"].get("scale", 0) != 2.0**26
    assert (ends[0]["skipped"] > 0) == (precision == "fp16")

    losses: list[dict[int, float]] = []
    for cfg in (whole, second):
        lines = map(json.loads, (Path(cfg.out_dir) / "log.jsonl").read_text().splitlines())
        losses.append({line["window"]: line["train/loss"] for line in lines if "train/loss" in line})
    assert losses[0] == losses[1]


@pytest.mark.requirement("CKPT-01")
def test_the_file_holds_everything_under_named_keys_and_loads_as_plain_data(small: Small) -> None:
    cfg = small(precision="fp16", steps=2)
    train(cfg)
    state = saved(cfg)  # weights_only=True: nothing in it can run code
    assert state.keys() >= {
        "model", "optimizer", "scaler", "schedule", "data_position", "rng", "step", "skipped", "config", "precision",
    }  # fmt: skip
    assert state["scaler"]["scale"] == 65536.0
    assert state["scaler"]["_growth_tracker"] == 2
    assert state["data_position"] == state["step"] + state["skipped"] == 2
    assert state["precision"] == {"name": "fp16", "device": "cpu"}
    assert state["config"]["width"] == 32


@pytest.mark.requirement("CKPT-02")
@pytest.mark.parametrize("other", ["fp32", "bf16"])
def test_another_precision_is_refused(small: Small, other: str) -> None:
    train(small(precision="fp16", steps=4, stop_at=2))
    with pytest.raises(CheckpointError, match=f"trained in fp16 on cpu, this run is {other} on cpu.*--precision=fp16"):
        train(small(precision=other, steps=4, resume=True))


def test_another_setting_that_changes_the_numbers_is_refused(small: Small) -> None:
    train(small(steps=4, stop_at=2))
    with pytest.raises(CheckpointError, match=r"trained with learning_rate = 0\.003, this run has 0\.1"):
        train(small(steps=4, resume=True, learning_rate=0.1))


def test_a_checkpoint_of_another_number_of_ranks_is_refused(small: Small) -> None:
    cfg = small(steps=2)
    train(cfg)
    path = Path(cfg.out_dir) / "checkpoint.pt"
    state = saved(cfg)
    torch.save(state | {"rng": state["rng"] * 2}, path)
    with pytest.raises(CheckpointError, match="written by 2 ranks, this run has 1"):
        train(small(steps=2, resume=True))


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "no checkpoint to resume from"), (b"", "cannot be read"), (b"PK\x03\x04 half a file", "cannot be read")],
)
def test_a_missing_or_broken_file_is_a_clear_error(small: Small, content: bytes | None, message: str) -> None:
    cfg = small(steps=2, resume=True)
    if content is not None:
        Path(cfg.out_dir).mkdir()
        (Path(cfg.out_dir) / "checkpoint.pt").write_bytes(content)
    with pytest.raises(CheckpointError, match=message):
        train(cfg)


def test_a_file_of_another_kind_is_a_clear_error(small: Small) -> None:
    cfg = small(steps=2, resume=True)
    Path(cfg.out_dir).mkdir()
    torch.save({"weights": torch.zeros(3)}, Path(cfg.out_dir) / "checkpoint.pt")
    with pytest.raises(CheckpointError, match="not a checkpoint of format 1"):
        train(cfg)


def test_a_write_that_fails_halfway_leaves_the_old_checkpoint_and_no_rubbish(
    small: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    cfg = small(steps=4, stop_at=2)
    train(cfg)
    before = saved(cfg)

    def disk_full(_state: object, file: Any) -> None:
        file.write(b"half of it")
        raise OSError("no space left on device")

    monkeypatch.setattr(checkpoint.torch, "save", disk_full)
    with pytest.raises(OSError, match="no space left"):
        train(small(steps=4, resume=True))
    assert same(saved(cfg), before)
    assert [path.name for path in Path(cfg.out_dir).glob("checkpoint*")] == ["checkpoint.pt"]
