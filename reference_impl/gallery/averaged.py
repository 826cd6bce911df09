"""An average of the weights (EMA) in float16 training: kept in float32, and moved only by steps that happened.

In half precision it would stop early, up to half of a weight away: a thousandth of what is left is rounded away.
"""

from __future__ import annotations

import copy

import torch
from torch import nn

from reference_impl.gallery import tasks

DECAY = 0.999
"""It averages about a thousand steps: a shorter run needs less."""


@torch.no_grad()
def move(average: nn.Module, model: nn.Module) -> None:
    """Bring the average a little nearer to the model; statistics of norms are taken as they are."""
    for mean, weight in zip(average.parameters(), model.parameters(), strict=True):
        mean.mul_(DECAY).add_(weight, alpha=1 - DECAY)
    for kept, buffer in zip(average.buffers(), model.buffers(), strict=True):
        kept.copy_(buffer)


def train(steps: int) -> float:
    """Classify digits; returns the held-out accuracy of the averaged weights."""
    torch.manual_seed(0)
    device = tasks.device()
    data, held_out = tasks.digits(device)
    model = tasks.ConvNet().to(device)
    average = copy.deepcopy(model)  # float32, as the weights
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    scaler = torch.amp.GradScaler(device.type)
    region = torch.autocast(device.type, dtype=torch.float16)

    for images, labels in tasks.batches(data, 64, steps):
        with region:
            loss = nn.functional.cross_entropy(model(images), labels)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scale = scaler.get_scale()
        scaler.update()
        optimizer.zero_grad()
        if scaler.get_scale() >= scale:  # the step happened: a skipped one lowers the scale
            move(average, model)

    return tasks.accuracy(average, held_out, region)


if __name__ == "__main__":
    tasks.main(train, steps=1000)
