"""Where the numbers go: a JSONL file and the console always, Weights & Biases when asked."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, cast

import torch

from reference_impl.checkpoint import Progress
from reference_impl.config import Config
from reference_impl.errors import MissingWandbError
from reference_impl.precision import Precision, float32_products
from reference_impl.world import World


class NullLog:
    """Writes nothing: the log of every rank but the first."""

    def write(self, progress: Progress, metrics: Mapping[str, float]) -> None:
        """Take the metrics and let them go."""

    def close(self) -> None:
        """Nothing is open."""


class Log(NullLog):
    """One JSON object a line: a `run` line with the circumstances, then metrics by window."""

    def __init__(self, cfg: Config, precision: Precision, world: World) -> None:
        out_dir = Path(cfg.out_dir)
        out_dir.mkdir(parents=True, exist_ok=True)
        self._wandb = _start_wandb(cfg, out_dir)
        self._path = out_dir / "log.jsonl"
        if not cfg.resume:  # a resumed run goes on below: lines after the checkpoint come twice, and the last holds
            self._path.unlink(missing_ok=True)
        circumstances = {
            "precision": precision.name,
            "device": str(precision.device),
            "reason": precision.reason,
            "float32": float32_products(),
            "ranks": world.size,
            "torch": torch.__version__,
        }
        self._line({"run": circumstances | {"config": asdict(cfg)}})
        print(f"{precision.name} on {precision.device}, {world.size} rank(s), {cfg.steps} steps: {precision.reason}")

    def write(self, progress: Progress, metrics: Mapping[str, float]) -> None:
        """Log numbers under the window just done. Raises TypeError for a None: a metric is a number or is not there."""
        for name, value in metrics.items():
            if not isinstance(value, (int, float)):
                raise TypeError(f"metric {name} is {value!r}, not a number")
        self._line({"window": progress.windows, "step": progress.step, **{k: _json(v) for k, v in metrics.items()}})
        shown = "  ".join(f"{name.partition('/')[2]} {value:.4g}" for name, value in metrics.items())
        print(f"step {progress.step:5d}  {shown}", flush=True)
        if self._wandb is not None:
            self._wandb.log({"step": progress.step, **metrics}, step=progress.windows)

    def close(self) -> None:
        """Finish the W&B run; the file is closed after each line, so that a killed run leaves its numbers behind."""
        if self._wandb is not None:
            self._wandb.finish()

    def _line(self, record: Mapping[str, object]) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, allow_nan=False) + "\n")


def open_log(cfg: Config, precision: Precision, world: World) -> NullLog:
    """The log of this rank. Raises MissingWandbError on rank 0 if W&B is asked for and not installed."""
    return Log(cfg, precision, world) if world.is_main else NullLog()


def _json(value: float) -> float | str:
    """JSON has no inf and NaN; the gradient norm of a skipped step is one. `float("inf")` reads the text back."""
    return value if math.isfinite(value) else str(value)


def _start_wandb(cfg: Config, out_dir: Path) -> Any:
    if cfg.wandb == "off":
        return None
    try:
        import wandb  # heavy and optional: only here, and only when asked for
    except ImportError as error:
        raise MissingWandbError(f"wandb = {cfg.wandb!r} needs the wandb package: pip install wandb") from error
    mode = cast(Literal["online", "offline"], cfg.wandb)
    return wandb.init(project=cfg.wandb_project, dir=os.fspath(out_dir), mode=mode, config=asdict(cfg))
