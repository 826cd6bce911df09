"""Markers, one thread, and small pieces that the tests put together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from reference_impl.config import Config
from reference_impl.data import Batch, Windows, make_items
from reference_impl.model import GPT
from reference_impl.precision import DTYPES, Precision
from reference_impl.train import StepResult, make_optimizer, train_step
from reference_impl.world import World


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "gpu: needs a CUDA device")
    config.addinivalue_line("markers", "requirement(id): the requirement that this test verifies")
    torch.set_num_threads(1)  # tiny tensors gain nothing from a second core, and the machine may be shared


@pytest.fixture(autouse=True)
def flags_can_be_set() -> None:
    """What tests of torch's own import freezes torch.backends for the whole process; training sets its switches."""
    torch.backends.disable_global_flags.__globals__["__allow_nonbracketed_mutation_flag"] = True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if not torch.cuda.is_available():
        for item in items:
            if item.get_closest_marker("gpu"):
                item.add_marker(pytest.mark.skip(reason="needs a CUDA device; torch sees none"))


@dataclass
class Loop:
    """A training loop in pieces: take `windows` and call `step` on them."""

    cfg: Config
    precision: Precision
    model: GPT
    optimizer: torch.optim.Optimizer
    scaler: torch.amp.GradScaler
    data: Windows

    def step(self, window: list[Batch]) -> StepResult:
        return train_step(self.model, self.optimizer, self.scaler, self.precision, window, self.cfg, World())

    def weights(self) -> dict[str, torch.Tensor]:
        return {name: tensor.clone() for name, tensor in self.model.state_dict().items()}


@pytest.fixture
def make_loop() -> Callable[..., Loop]:
    """Build a small Loop on the CPU; keyword arguments are configuration keys."""

    def make(precision: str = "fp32", **keys: object) -> Loop:
        cfg = small_config(precision=precision, **keys)
        chosen = Precision(torch.device("cpu"), DTYPES[precision], "a test asked for it")
        torch.manual_seed(cfg.seed)
        model = GPT.from_config(cfg)
        scaler = chosen.scaler(cfg.init_scale, cfg.growth_interval)
        items, _ = make_items(cfg.train_items, cfg.eval_items)
        data = Windows(items, cfg.batch_size, cfg.accumulation, cfg.seed)
        return Loop(cfg, chosen, model, make_optimizer(model, cfg), scaler, data)

    return make


@pytest.fixture
def small(tmp_path: Path) -> Callable[..., Config]:
    """Build a small configuration that writes below tmp_path/out."""

    def make(**keys: object) -> Config:
        return small_config(**({"out_dir": str(tmp_path / "out")} | keys))

    return make


def small_config(**keys: object) -> Config:
    defaults: dict[str, object] = {
        "device": "cpu",
        "layers": 1,
        "heads": 2,
        "width": 32,
        "train_items": 112,  # 7 micro-batches an epoch: with two in a window, the fourth window is short
        "eval_items": 50,
        "batch_size": 16,
        "steps": 8,
        "warmup": 2,
    }
    return Config(**(defaults | keys))  # type: ignore[arg-type]  # Config checks the values
