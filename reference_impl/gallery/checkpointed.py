"""Activation checkpointing in float16: what the backward computes again must run in the region of the first time."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from reference_impl.gallery import tasks


class Checkpointed(tasks.CharGPT):
    """Keeps the input of each block, and nothing from within it."""

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.token(tokens) + self.position.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False)  # keeps the region's state and takes it up again
        scores: Tensor = self.head(self.norm(x))
        return scores


def train(steps: int) -> float:
    """Predict characters with less memory; returns the held-out accuracy."""
    torch.manual_seed(0)
    device = tasks.device()
    data, held_out = tasks.text(device)
    model = Checkpointed().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    scaler = torch.amp.GradScaler(device.type)
    region = torch.autocast(device.type, dtype=torch.float16)

    for tokens, targets in tasks.batches(data, 16, steps):
        with region:
            loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())
        scaler.scale(loss).backward()  # outside of the region, also for what is computed again
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()

    return tasks.accuracy(model, held_out, region)


if __name__ == "__main__":
    tasks.main(train, steps=200)
