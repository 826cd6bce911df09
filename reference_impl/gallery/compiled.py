"""torch.compile in float16: the model is compiled, and the region is entered around its call, not within it."""

from __future__ import annotations

import torch
from torch import nn

from reference_impl.gallery import tasks


def train(steps: int) -> float:
    """Predict characters with a compiled model; returns the held-out accuracy."""
    torch.manual_seed(0)
    device = tasks.device()
    data, held_out = tasks.text(device)
    model = tasks.CharGPT().to(device)
    compiled = torch.compile(model)  # compiled once for a region that is on, once more for one that is off
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    scaler = torch.amp.GradScaler(device.type)
    region = torch.autocast(device.type, dtype=torch.float16)

    for tokens, targets in tasks.batches(data, 16, steps):
        with region:
            loss = nn.functional.cross_entropy(compiled(tokens).flatten(0, 1), targets.flatten())
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()

    return tasks.accuracy(model, held_out, region)  # plain: held-out pieces have another shape


if __name__ == "__main__":
    tasks.main(train, steps=200)
