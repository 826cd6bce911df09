"""Trains a tiny GPT on one line of text, in the manner of nanoGPT: `python train.py`."""

import math
from dataclasses import dataclass

import torch

from model import TinyGPT

TEXT = "the quick brown fox jumps over the lazy dog. " * 40
CHARS = sorted(set(TEXT))
DATA = torch.tensor([CHARS.index(char) for char in TEXT])


@dataclass(frozen=True)
class Config:
    max_iters: int = 60
    batch_size: int = 8
    block_size: int = 16
    gradient_accumulation_steps: int = 2
    learning_rate: float = 3e-3
    min_lr: float = 3e-4
    warmup_iters: int = 5
    weight_decay: float = 0.1
    grad_clip: float = 1.0
    dtype: str = "float16"
    seed: int = 1337
    log_interval: int = 1


def get_batch(config, generator, device):
    """Random windows of the text (x) and the same windows one character on (y)."""
    starts = torch.randint(len(DATA) - config.block_size - 1, (config.batch_size,), generator=generator)
    windows = DATA[starts[:, None] + torch.arange(config.block_size + 1)]
    return windows[:, :-1].to(device), windows[:, 1:].to(device)


def get_lr(it, config):
    """Linear warm-up, then a cosine down to `min_lr`."""
    if it < config.warmup_iters:
        return config.learning_rate * (it + 1) / (config.warmup_iters + 1)
    ratio = (it - config.warmup_iters) / max(1, config.max_iters - config.warmup_iters)
    return config.min_lr + 0.5 * (1.0 + math.cos(math.pi * min(ratio, 1.0))) * (config.learning_rate - config.min_lr)


def train(config, log=lambda entry: None):
    """Runs `max_iters` optimizer steps and returns the model; `log` gets loss, lr and loss scale of each."""
    torch.manual_seed(config.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    amp = config.dtype == "float16"
    model = TinyGPT(len(CHARS), config.block_size).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay)
    scaler = torch.amp.GradScaler(device, enabled=amp)
    generator = torch.Generator().manual_seed(config.seed)

    for it in range(config.max_iters):
        for group in optimizer.param_groups:
            group["lr"] = get_lr(it, config)
        window_loss = torch.zeros((), device=device)
        for _micro_step in range(config.gradient_accumulation_steps):
            x, y = get_batch(config, generator, device)
            with torch.autocast(device_type=device, dtype=torch.float16, enabled=amp):
                _logits, loss = model(x, y)
                loss = loss / config.gradient_accumulation_steps
            window_loss += loss.detach()
            scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), config.grad_clip)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        if it % config.log_interval == 0:  # reading the scale waits for the GPU
            log({"iter": it, "loss": window_loss, "lr": get_lr(it, config), "amp/loss_scale": scaler.get_scale()})
    return model


if __name__ == "__main__":
    train(Config(), log=lambda entry: print({key: round(float(value), 4) for key, value in entry.items()}))
