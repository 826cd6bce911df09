"""Train a small GPT to sort digits, with explicit automatic mixed precision (AMP).

    python -m reference_impl.train reference_impl/configs/tiny_cpu.toml
    python -m reference_impl.train reference_impl/configs/tiny_cpu.toml --precision=bf16
    python -m reference_impl.train reference_impl/configs/fp16_cuda.toml --wandb=online
    torchrun --standalone --nproc_per_node=2 -m reference_impl.train reference_impl/configs/bf16_ddp.toml

`precision` is the only switch. fp32, bf16 and fp16 run the same lines, because a disabled autocast and a disabled
GradScaler do nothing.
"""

from __future__ import annotations

import math
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from reference_impl import checkpoint
from reference_impl.checkpoint import Progress
from reference_impl.config import Config, read_config
from reference_impl.data import DIGITS, Batch, Windows, make_items, split
from reference_impl.errors import NonFiniteError, ScaleCollapsedError, TrainingError
from reference_impl.log import open_log
from reference_impl.model import GPT
from reference_impl.precision import Precision, choose_precision, set_float32
from reference_impl.world import World

# ---------------------------------------------------------------------------------------------------------------------
# One optimizer step


@dataclass(frozen=True)
class StepResult:
    """What one optimizer step did. The tensors are 0-dim and stay on the device: reading one waits for it."""

    loss: Tensor  # mean over the window's items on this rank, in nats per digit
    grad_norm: Tensor  # global L2 norm of the unscaled gradients, before clipping
    skipped: bool  # the scaler met inf or NaN and left the parameters alone


def train_step(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    scaler: torch.amp.GradScaler,
    precision: Precision,
    window: list[Batch],
    cfg: Config,
    world: World,
) -> StepResult:  # requirement: DATA-01, DATA-02, EDGE-03
    """Make one optimizer step from one window of micro-batches.

    The host waits for the device here: in fp16 in `scaler.step`, which must know whether to skip, and in the two
    short reads of the scale around `update`; in fp32 and bf16 in `require_finite`.
    Raises NonFiniteError before the optimizer moves, ScaleCollapsedError after one skip too many.
    """
    window_loss = torch.zeros((), device=precision.device)
    for micro, (tokens, targets) in enumerate(window, start=1):
        # DDP decides in the forward whether the backward will reduce gradients, so both lie inside no_sync.
        with nullcontext() if micro == len(window) else no_sync(model):
            with precision.autocast():
                loss = model(tokens, targets) / len(window)  # the true size: an epoch's last window may be short
            scaler.scale(loss).backward()
        window_loss += loss.detach()
    scaler.unscale_(optimizer)
    grad_norm = nn.utils.clip_grad_norm_(model.parameters(), cfg.grad_clip)
    require_finite(window_loss, grad_norm, scaler, world)
    scaler.step(optimizer)
    scale = scaler.get_scale()
    scaler.update()
    optimizer.zero_grad(set_to_none=True)

    skipped = scaler.get_scale() < scale  # `step` does not tell; a scale that fell does. Equal on all ranks
    if skipped and scaler.get_scale() < cfg.min_scale:
        raise ScaleCollapsedError(
            f"the loss scale fell to {scaler.get_scale():g}, below min_scale = {cfg.min_scale:g}: "
            "the gradients stay inf or NaN however small the scale"
        )
    return StepResult(window_loss, grad_norm, skipped)


def no_sync(model: nn.Module) -> AbstractContextManager[None]:
    """Hold back DDP's all-reduce; for a plain model there is none to hold back."""
    return model.no_sync() if isinstance(model, DistributedDataParallel) else nullcontext()


def require_finite(loss: Tensor, grad_norm: Tensor, scaler: torch.amp.GradScaler, world: World) -> None:
    """Where no scaler guards the parameters, stop all ranks together on an inf or NaN in loss or gradients."""
    if scaler.is_enabled():  # requirement: EDGE-04
        return  # it skips such a step by itself
    if not math.isfinite(world.sum(loss + grad_norm)):  # one inf or NaN, on any rank, makes the sum one
        raise NonFiniteError(
            "inf or NaN on some rank: all ranks stopped before the optimizer moved; "
            f"here, on rank {world.rank}, loss {loss.item():g}, gradient norm {grad_norm.item():g}"
        )


# ---------------------------------------------------------------------------------------------------------------------
# What stands around the step


def take_threads(cfg: Config) -> None:
    """Let an operator on the CPU take as many threads as `cfg` says: small matrices lose by a second one."""
    if cfg.threads:
        torch.set_num_threads(cfg.threads)


def make_optimizer(model: nn.Module, cfg: Config) -> torch.optim.AdamW:
    """AdamW that decays matrices only: pulling norms and biases to zero does no good."""
    matrices = [p for p in model.parameters() if p.dim() > 1]
    vectors = [p for p in model.parameters() if p.dim() <= 1]
    groups: list[dict[str, Any]] = [{"params": matrices}, {"params": vectors, "weight_decay": 0.0}]
    decay, fused = cfg.weight_decay, cfg.fused or None  # None: torch chooses
    return torch.optim.AdamW(groups, lr=cfg.learning_rate, betas=(0.9, 0.95), weight_decay=decay, fused=fused)


def compiled(model: nn.Module, cfg: Config) -> nn.Module:
    """The model as training calls it; its parameters are those of `model`, and so are their names there."""
    return cast("nn.Module", torch.compile(model)) if cfg.compile else model


def make_scheduler(optimizer: torch.optim.Optimizer, cfg: Config) -> torch.optim.lr_scheduler.LambdaLR:
    """Linear warm-up, then a cosine from the peak to a tenth of it. Counts the steps that really happened."""

    def factor(step: int) -> float:
        if step < cfg.warmup:
            return (step + 1) / cfg.warmup
        done = min(1.0, (step - cfg.warmup) / max(1, cfg.steps - cfg.warmup))
        return 0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * done))

    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


@torch.no_grad()
def exact_matches(model: GPT, precision: Precision, items: Tensor) -> Tensor:
    """Which of the (N, CONTEXT + 1) items the model answers without one wrong digit: (N,) bool.

    One forward is enough: an answer written digit by digit, each the likeliest, is right exactly if each digit is
    the likeliest after the right ones before it.
    """
    model.eval()
    right = []
    for chunk in torch.split(items, 1000):
        tokens, targets = split(chunk)
        with precision.autocast():
            guess = model.logits(tokens).argmax(dim=-1)  # (N, CONTEXT)
        right.append((guess == targets)[:, DIGITS:].all(dim=1))
    model.train()
    return torch.cat(right)


def accuracy(model: GPT, precision: Precision, items: Tensor, world: World) -> float:
    """The exact-match accuracy over all items; the ranks share the work."""
    right = exact_matches(model, precision, items[world.rank :: world.size])  # requirement: AMP-06, BUS-03
    return world.sum(right.sum()) / len(items)


# ---------------------------------------------------------------------------------------------------------------------
# The run


@dataclass(frozen=True)
class Result:
    """Where a run ended."""

    step: int
    skipped: int
    accuracy: float  # exact match on the held-out items


def train(cfg: Config) -> Result:
    """Run the training that `cfg` describes, on this rank. Raises a TrainingError."""
    take_threads(cfg)
    set_float32(cfg.float32)
    world = World.from_env()
    precision = choose_precision(
        cfg.device, cfg.precision, allow_fallback=cfg.allow_fallback, local_rank=world.local_rank
    )
    world.start(precision.device)
    try:
        return run(cfg, precision, world)
    finally:
        world.stop()


def run(cfg: Config, precision: Precision, world: World) -> Result:
    """Build everything, resume if asked, loop. Read from top to bottom."""
    device = precision.device
    train_items, held_out = (items.to(device) for items in make_items(cfg.train_items, cfg.eval_items))
    data = Windows(train_items, cfg.batch_size, cfg.accumulation, cfg.seed)

    torch.manual_seed(cfg.seed)  # the same weights on all ranks ...
    raw_model = GPT.from_config(cfg).to(device)
    torch.manual_seed(cfg.seed + world.rank)  # ... but other dropout
    scaler = precision.scaler(cfg.init_scale, cfg.growth_interval)
    optimizer = make_optimizer(raw_model, cfg)
    scheduler = make_scheduler(optimizer, cfg)

    progress = Progress()
    saved = checkpoint.Checkpoint(Path(cfg.out_dir) / "checkpoint.pt", cfg, precision, world)
    if cfg.resume:
        progress = saved.load(raw_model, optimizer, scaler, scheduler)

    model = compiled(raw_model, cfg)
    if world.size > 1:
        model = DistributedDataParallel(model, device_ids=[device] if device.type == "cuda" else None)

    log = open_log(cfg, precision, world)
    last_step = min(cfg.steps, cfg.stop_at or cfg.steps)
    clock, items_seen = time.perf_counter(), 0
    while progress.step < last_step:
        window = data.window(progress.windows, world.rank, world.size)
        result = train_step(model, optimizer, scaler, precision, window, cfg, world)
        lr = float(scheduler.get_last_lr()[0])
        if result.skipped:
            progress.skipped += 1
        else:
            progress.step += 1
            scheduler.step()  # only real steps move the learning rate

        items_seen += cfg.batch_size * len(window)
        if progress.windows % cfg.log_every == 0:
            # Reading waits for the device, and the mean for the other ranks: so only every log_every windows.
            loss, now = world.mean(result.loss), time.perf_counter()
            log.write(
                progress,
                {
                    "train/loss": loss,
                    "train/grad_norm": float(result.grad_norm),
                    "train/lr": lr,
                    "train/items_per_second": items_seen / (now - clock),
                    "amp/loss_scale": scaler.get_scale(),  # 1.0 where no scaler is needed
                    "amp/skipped_total": progress.skipped,
                },
            )
            clock, items_seen = now, 0
        midway = not result.skipped and progress.step < last_step  # the end has its own, below
        if midway and progress.step % cfg.eval_every == 0:
            log.write(progress, {"eval/accuracy": accuracy(raw_model, precision, held_out, world)})
        if midway and progress.step % cfg.checkpoint_every == 0:
            saved.save(raw_model, optimizer, scaler, scheduler, progress)

    final = accuracy(raw_model, precision, held_out, world)
    log.write(progress, {"eval/accuracy": final})
    log.close()
    saved.save(raw_model, optimizer, scaler, scheduler, progress)
    return Result(progress.step, progress.skipped, final)


def main() -> None:
    """Read the command line and train."""
    try:
        train(read_config(sys.argv[1:]))
    except TrainingError as error:
        sys.exit(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
