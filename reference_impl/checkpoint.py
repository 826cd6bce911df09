"""Everything a run needs to go on bit for bit, in one file that is either the old one or the new one, never half."""

from __future__ import annotations

import os
import pickle
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.optim.lr_scheduler import LRScheduler

from reference_impl.config import Config
from reference_impl.errors import CheckpointError
from reference_impl.precision import Precision
from reference_impl.world import World

FORMAT = 1
# These may differ between the two halves of a run: they change what it reports, not what it computes.
# (What `device` and `precision` came to is compared on its own.)
FREE_TO_CHANGE = {
    "precision", "device", "allow_fallback", "eval_items", "out_dir", "log_every", "eval_every",
    "checkpoint_every", "stop_at", "resume", "wandb", "wandb_project",
}  # fmt: skip


@dataclass
class Progress:
    """How far the run has come."""

    step: int = 0  # optimizer steps that happened
    skipped: int = 0  # windows whose gradients overflowed

    @property
    def windows(self) -> int:
        """Windows drawn so far: the position in the data, for a skipped window is not drawn again."""
        return self.step + self.skipped


@dataclass(frozen=True)
class Checkpoint:  # requirement: CKPT-02
    """Saves and restores one run at one place. All ranks call both methods; rank 0 alone writes."""

    path: Path
    cfg: Config
    precision: Precision
    world: World

    def save(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        scaler: torch.amp.GradScaler,
        scheduler: LRScheduler,
        progress: Progress,
    ) -> None:
        """Write the state of the run; call it between two steps. `model` is the one that DDP wraps."""
        device = self.precision.device
        on_cuda = device.type == "cuda"
        state = {
            "format": FORMAT,
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "scaler": scaler.state_dict(),  # empty where the scaler is disabled
            "schedule": scheduler.state_dict(),
            "step": progress.step,
            "skipped": progress.skipped,
            "data_position": progress.windows,
            "rng": self.world.gather(torch.get_rng_state()),  # one for each rank
            "rng_cuda": self.world.gather(torch.cuda.get_rng_state(device)) if on_cuda else [],
            "precision": {"name": self.precision.name, "device": device.type},
            "config": asdict(self.cfg),
        }
        if self.world.is_main:
            _write(self.path, state)

    def load(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        scaler: torch.amp.GradScaler,
        scheduler: LRScheduler,
    ) -> Progress:
        """Put a saved state back into freshly built objects. Raises CheckpointError if it is not this run's."""
        state = _read(self.path)
        self._require_same_run(state)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        scaler.load_state_dict(state["scaler"])
        scheduler.load_state_dict(state["schedule"])
        torch.set_rng_state(state["rng"][self.world.rank])
        if state["rng_cuda"]:
            torch.cuda.set_rng_state(state["rng_cuda"][self.world.rank], self.precision.device)
        return Progress(state["step"], state["skipped"])

    def _require_same_run(self, state: Mapping[str, Any]) -> None:
        now = {"name": self.precision.name, "device": self.precision.device.type}
        was = state["precision"]
        if was != now:
            raise CheckpointError(
                f"{self.path} was trained in {was['name']} on {was['device']}, this run is {now['name']} on "
                f"{now['device']}: loss scale and rounding would change midway; use --precision={was['name']}"
            )
        if len(state["rng"]) != self.world.size:
            raise CheckpointError(
                f"{self.path} was written by {len(state['rng'])} ranks, this run has {self.world.size}"
            )
        ours = asdict(self.cfg)
        for key, value in state["config"].items():
            if key not in FREE_TO_CHANGE and ours[key] != value:
                raise CheckpointError(f"{self.path} was trained with {key} = {value!r}, this run has {ours[key]!r}")


def _write(path: Path, state: Mapping[str, Any]) -> None:
    """Write beside the target, then rename: whoever kills the run at any moment leaves a whole checkpoint behind."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)  # os.replace: at once, or not at all
    finally:
        temporary.unlink(missing_ok=True)


def _read(path: Path) -> dict[str, Any]:
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise CheckpointError(f"there is no checkpoint to resume from at {path}") from None
    except (OSError, RuntimeError, EOFError, pickle.UnpicklingError) as error:
        raise CheckpointError(f"{path} cannot be read: {error}") from error
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        raise CheckpointError(f"{path} is not a checkpoint of format {FORMAT}")
    return state
