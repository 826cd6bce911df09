"""Gradient accumulation in float16: one window of micro-batches is one optimizer step, and one use of the scaler."""

from __future__ import annotations

import torch
from torch import nn

from reference_impl.gallery import tasks

WINDOW = 4
"""Micro-batches of a step."""


def train(steps: int) -> float:
    """Predict characters, four micro-batches a step; returns the held-out accuracy."""
    torch.manual_seed(0)
    device = tasks.device()
    data, held_out = tasks.text(device)
    model = tasks.CharGPT().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    scaler = torch.amp.GradScaler(device.type)
    region = torch.autocast(device.type, dtype=torch.float16)

    micro_batches = tasks.batches(data, 8, WINDOW * steps)
    for _ in range(steps):
        for _, (tokens, targets) in zip(range(WINDOW), micro_batches, strict=False):
            with region:
                scores = model(tokens)
                loss = nn.functional.cross_entropy(scores.flatten(0, 1), targets.flatten()) / WINDOW
            scaler.scale(loss).backward()  # the scale is the same in the whole window: gradients add up
        scaler.unscale_(optimizer)  # once a window, and not before its last backward
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()

    return tasks.accuracy(model, held_out, region)


if __name__ == "__main__":
    tasks.main(train, steps=200)
