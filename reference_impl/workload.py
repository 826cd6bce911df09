"""The training step as a workload for a benchmark: same model, data and AMP lines as `train`, no logging, no files.

Two workloads with the same seed draw the same batches and the same initial weights, whatever their precision: they
can be compared step by step and item by item.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import torch
from torch import Tensor

from reference_impl.config import Config, read_config
from reference_impl.data import CONTEXT, Windows, make_items
from reference_impl.model import GPT
from reference_impl.precision import Precision, choose_precision, set_float32
from reference_impl.train import compiled, exact_matches, make_optimizer, make_scheduler, take_threads, train_step
from reference_impl.world import World


class Workload:  # requirement: AMP-05, BUS-01, BUS-02
    """A run that somebody else drives, one optimizer step at a time."""

    def __init__(self, cfg: Config, precision: Precision) -> None:
        train_items, held_out = (items.to(precision.device) for items in make_items(cfg.train_items, cfg.eval_items))
        torch.manual_seed(cfg.seed)
        self.cfg, self.precision, self.held_out = cfg, precision, held_out
        self.data = Windows(train_items, cfg.batch_size, cfg.accumulation, cfg.seed)
        self.model = GPT.from_config(cfg).to(precision.device)
        self.scaler = precision.scaler(cfg.init_scale, cfg.growth_interval)
        self.optimizer = make_optimizer(self.model, cfg)
        self.scheduler = make_scheduler(self.optimizer, cfg)
        self._trained = compiled(self.model, cfg)
        windows = cfg.train_items // cfg.batch_size
        assert windows % cfg.accumulation == 0, "a short window would hold fewer samples than the others"
        self.samples_per_step = cfg.batch_size * cfg.accumulation
        self.effective_steps = 0  # optimizer steps that moved the parameters
        self.skipped = 0  # steps that the scaler skipped
        places = torch.randint(1 << 62, (cfg.batch_size * CONTEXT,), generator=torch.Generator().manual_seed(0))
        self._places, self._seen = places.to(precision.device), torch.zeros((), dtype=torch.int64).to(precision.device)

    def step(self) -> Tensor:
        """Train on the next window, as `train.run` does; the loss stays on the device, so that nobody waits for it."""
        window = self.data.window(self.effective_steps + self.skipped)
        for tokens, _ in window:  # a fingerprint in integers that wrap around; it makes two arms provably paired
            self._seen.mul_(6_364_136_223_846_793_005).add_((tokens.flatten() * self._places).sum())
        result = train_step(self._trained, self.optimizer, self.scaler, self.precision, window, self.cfg, World())
        if result.skipped:
            self.skipped += 1
        else:
            self.effective_steps += 1
            self.scheduler.step()
        return result.loss

    @property
    def loss_scale(self) -> float:
        """What the loss is multiplied by now; 1.0 where no scaler is needed. Reading it waits for the device."""
        return self.scaler.get_scale()

    def evaluate(self) -> list[float]:
        """1.0 for each held-out item answered without a wrong digit, else 0.0; always the same items in order."""
        return exact_matches(self.model, self.precision, self.held_out).double().tolist()

    def data_digest(self) -> str:
        """SHA-256, in hex, of the fingerprint of all batches drawn so far, in their order."""
        return hashlib.sha256(str(self._seen.item()).encode()).hexdigest()

    def parameter_bytes(self) -> int:
        """Bytes that the parameters occupy; the same in every precision, for they stay FP32."""
        return sum(p.numel() * p.element_size() for p in self.model.parameters())


def build(precision: str, seed: int, device: str = "cpu") -> Workload:
    """Make a fresh workload in fp32, bf16 or fp16, of the size that `configs/bench_{device}.toml` gives.

    Raises PrecisionUnavailableError rather than falling back.
    """
    return _sized(f"bench_{device}.toml", precision, seed, device)


def build_large(precision: str, seed: int, device: str = "cpu") -> Workload:
    """The same in the size of `configs/bench_{device}_large.toml`, of whose step matrix products take nearly all."""
    return _sized(f"bench_{device}_large.toml", precision, seed, device)


def _sized(file: str, precision: str, seed: int, device: str) -> Workload:
    size = Path(__file__).parent / "configs" / file
    cfg = read_config([str(size), f"--precision={precision}", f"--seed={seed}", f"--device={device}"])
    take_threads(cfg)
    set_float32(cfg.float32)
    return Workload(cfg, choose_precision(device, precision))
