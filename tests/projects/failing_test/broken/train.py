"""Trains a classifier of points in two rings with explicit mixed precision: `python train.py`."""

import math
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import nn


@dataclass(frozen=True)
class Config:
    steps: int = 80
    batch_size: int = 64
    peak_lr: float = 2e-2
    warmup_steps: int = 5
    max_norm: float = 1.0
    use_amp: bool = True
    seed: int = 0
    log_every: int = 1


@dataclass
class Run:
    """A trained model, and what each step was like."""

    model: nn.Module
    losses: list[torch.Tensor] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)
    scales: list[float] = field(default_factory=list)


def rings(count, generator):
    """Points around the origin, and for each whether it lies in the outer ring."""
    outer = torch.randint(2, (count,), generator=generator)
    angle = 2 * math.pi * torch.rand(count, generator=generator)
    radius = 1.0 + outer + 0.2 * torch.randn(count, generator=generator)
    return torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1), outer


def classifier(width=32):
    return nn.Sequential(nn.Linear(2, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 2))


def learning_rate(step, config):
    """A linear rise to the peak, reached on the last step of the warm-up, then a linear fall towards 0."""
    if step < config.warmup_steps:
        return config.peak_lr * step / config.warmup_steps
    return config.peak_lr * (config.steps - step) / (config.steps - config.warmup_steps + 1)


def train(config):
    """Runs every step of the schedule; the same configuration gives the same weights."""
    torch.manual_seed(config.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    run = Run(classifier().to(device))
    optimizer = torch.optim.AdamW(run.model.parameters(), lr=config.peak_lr)
    scaler = torch.amp.GradScaler(device, enabled=config.use_amp)
    generator = torch.Generator().manual_seed(config.seed)
    for step in range(config.steps):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, config)
        points, outer = (tensor.to(device) for tensor in rings(config.batch_size, generator))
        with torch.autocast(device_type=device, dtype=torch.float16, enabled=config.use_amp):
            loss = F.cross_entropy(run.model(points), outer)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(run.model.parameters(), config.max_norm)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        run.losses.append(loss.detach())
        run.rates.append(optimizer.param_groups[0]["lr"])
        if step % config.log_every == 0:  # reading the scale waits for the GPU
            run.scales.append(scaler.get_scale())
    return run


@torch.no_grad()
def accuracy(model, count=512, seed=1):
    """Share of new points that the model puts into the right ring."""
    device = next(model.parameters()).device
    points, outer = (tensor.to(device) for tensor in rings(count, torch.Generator().manual_seed(seed)))
    return float((model(points).argmax(dim=1) == outer).float().mean())


if __name__ == "__main__":
    finished = train(Config())
    print(f"loss {float(finished.losses[-1]):.3f}, accuracy {accuracy(finished.model):.3f}")
