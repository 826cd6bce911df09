"""bfloat16: the range of float32, so no loss scaling. The gradient norm is looked at instead."""

from __future__ import annotations

import torch
from torch import nn

from reference_impl.gallery import tasks


def train(steps: int) -> float:
    """Classify digits in bfloat16; returns the held-out accuracy."""
    torch.manual_seed(0)
    device = tasks.device()
    data, held_out = tasks.digits(device)
    model = tasks.ConvNet().to(device)  # weights, gradients and optimizer state are float32, and stay so
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    region = torch.autocast(device.type, dtype=torch.bfloat16)

    for images, labels in tasks.batches(data, 64, steps):
        with region:
            loss = nn.functional.cross_entropy(model(images), labels)  # autocast computes it in float32
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if not torch.isfinite(norm):  # no scaler skips the step here: it would be in the weights for ever
            raise FloatingPointError(f"gradient norm {norm.item()} at loss {loss.item()}")
        optimizer.step()
        optimizer.zero_grad()

    return tasks.accuracy(model, held_out, region)


if __name__ == "__main__":
    tasks.main(train, steps=200)
