"""What the run tells: JSONL always, Weights & Biases when asked, a number or nothing."""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from reference_impl import train as train_module
from reference_impl.checkpoint import Progress
from reference_impl.config import Config
from reference_impl.errors import MissingWandbError
from reference_impl.log import Log, NullLog, open_log
from reference_impl.precision import choose_precision
from reference_impl.train import train
from reference_impl.world import World

Small = Callable[..., Config]
METRICS = {
    "train/loss", "train/grad_norm", "train/lr", "train/items_per_second", "amp/loss_scale", "amp/skipped_total",
}  # fmt: skip


def read_log(cfg: Config) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (Path(cfg.out_dir) / "log.jsonl").read_text().splitlines()]


def test_every_nth_window_is_logged_with_all_numbers(small: Small) -> None:
    cfg = small(precision="fp16", steps=7, log_every=3)
    train(cfg)
    lines = [line for line in read_log(cfg) if "train/loss" in line]
    assert [line["window"] for line in lines] == [3, 6]
    assert all(line.keys() == METRICS | {"window", "step"} for line in lines)
    assert all(isinstance(line[name], (int, float)) for line in lines for name in METRICS)


def test_the_log_begins_with_the_circumstances(small: Small) -> None:
    cfg = small(precision="bf16", steps=1)
    train(cfg)
    run = read_log(cfg)[0]["run"]
    assert (run["precision"], run["device"], run["reason"]) == ("bf16", "cpu", "bf16 was asked for")
    assert run["config"]["width"] == cfg.width
    assert run["float32"] == {"matmul": "highest", "cudnn": "ieee"}
    assert run["torch"] == torch.__version__


@pytest.mark.requirement("AMP-04")
@pytest.mark.requirement("LOG-01")
@pytest.mark.parametrize(("precision", "scales"), [("fp32", [1.0] * 3), ("fp16", [2.0**31, 2.0**30, 2.0**29])])
def test_the_loss_scale_is_read_from_the_scaler_each_time(small: Small, precision: str, scales: list[float]) -> None:
    cfg = small(precision=precision, steps=8, log_every=1, init_scale=2.0**32)  # far too large: halved at first
    train(cfg)
    lines = [line for line in read_log(cfg) if "amp/loss_scale" in line]
    assert [line["amp/loss_scale"] for line in lines[:3]] == scales
    assert [line["amp/skipped_total"] for line in lines[:3]] == ([0, 0, 0] if precision == "fp32" else [1, 2, 3])


def test_the_loss_is_the_mean_over_the_window(small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    """Training stands still (learning rate next to nothing), so that the window's mean can be computed afterwards."""
    cfg = small(steps=4, log_every=4, learning_rate=1e-30, weight_decay=0.0, accumulation=3)
    seen: list[float] = []
    real = train_module.GPT.forward

    def listen(model: torch.nn.Module, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        loss = real(model, tokens, targets)  # type: ignore[arg-type]
        seen.append(loss.item())
        return loss

    monkeypatch.setattr(train_module.GPT, "forward", listen)
    train(cfg)
    assert len(seen) == 3 + 3 + 1 + 3
    (line,) = [line for line in read_log(cfg) if "train/loss" in line]
    assert line["train/loss"] == pytest.approx(sum(seen[-3:]) / 3)


def test_an_infinite_norm_is_still_valid_json(small: Small) -> None:
    cfg = small(precision="fp16", steps=1, log_every=1, init_scale=2.0**20)
    train(cfg)
    text = (Path(cfg.out_dir) / "log.jsonl").read_text()
    assert "Infinity" not in text
    assert "NaN" not in text
    assert float(read_log(cfg)[1]["train/grad_norm"]) == float("inf")


def test_none_is_not_a_metric(small: Small) -> None:
    log = Log(small(), choose_precision("cpu", "fp32"), World())
    with pytest.raises(TypeError, match="amp/loss_scale is None, not a number"):
        log.write(Progress(), {"amp/loss_scale": None})  # type: ignore[dict-item]
    log.close()


def test_only_the_main_rank_writes(small: Small) -> None:
    cfg = small()
    log = open_log(cfg, choose_precision("cpu", "fp32"), World(rank=1, size=2))
    log.write(Progress(), {"train/loss": 1.0})
    log.close()
    assert type(log) is NullLog
    assert not Path(cfg.out_dir).exists()


def test_a_resumed_run_keeps_the_earlier_lines(small: Small) -> None:
    train(small(steps=4, log_every=1, stop_at=2))
    train(small(steps=4, log_every=1, resume=True))
    windows = [line["window"] for line in read_log(small()) if "train/loss" in line]
    assert windows == [1, 2, 3, 4]


# ---------------------------------------------------------------------------------------------------------------------
# Weights & Biases


def test_asking_for_wandb_without_having_it_names_the_install_line(
    small: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)  # an import then raises ImportError
    with pytest.raises(MissingWandbError, match="pip install wandb"):
        train(small(wandb="offline"))


def test_wandb_is_not_imported_unless_asked_for(small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    train(small(steps=1))


@pytest.mark.requirement("AMP-04")
def test_wandb_records_the_loss_scale(small: Small) -> None:
    """A real offline run, read back from the file that it wrote."""
    pytest.importorskip("wandb", reason="needs wandb: pip install wandb")
    cfg = small(precision="fp16", steps=3, log_every=1, init_scale=2.0**32, wandb="offline")
    train(cfg)
    (path,) = Path(cfg.out_dir).glob("wandb/offline-run-*/*.wandb")
    history = [row for row in read_wandb(path) if "amp/loss_scale" in row]
    assert all(row.keys() >= METRICS for row in history)
    scales, skipped = ([row[name] for row in history] for name in ("amp/loss_scale", "amp/skipped_total"))
    assert scales[:3] == [2.0**31, 2.0**30, 2.0**29]
    assert scales == [2.0 ** (32 - n) for n in skipped]
    assert [row["_step"] for row in history] == list(range(1, len(history) + 1))


def read_wandb(path: Path) -> Iterator[dict[str, Any]]:
    """The history rows of a .wandb file: protobuf records, cut into 32 KiB blocks in the manner of a LevelDB log."""
    from wandb.proto.wandb_internal_pb2 import Record

    data, position, message = path.read_bytes(), 7, b""  # seven bytes say that this is such a file
    while position + 7 <= len(data):
        left_in_block = 32_768 - position % 32_768
        if left_in_block < 7:
            position += left_in_block  # too short for another head: padding
            continue
        _checksum, length, part = struct.unpack("<IHB", data[position : position + 7])
        message += data[position + 7 : position + 7 + length]
        position += 7 + length
        if part in (1, 4):  # whole, or the last part of several
            record, message = Record.FromString(message), b""
            items = record.history.item
            if items:
                yield {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in items}
