"""A gradient penalty in float16: a gradient inside the loss has to be unscaled by hand before it is used.

`autograd.grad` of a scaled loss gives scaled gradients. They are divided by the scale, and only then squared.
"""

from __future__ import annotations

import torch
from torch import nn

from reference_impl.gallery import tasks


def train(steps: int) -> float:
    """Classify digits with little reaction to small changes of the image; returns the held-out accuracy."""
    torch.manual_seed(0)
    device = tasks.device()
    data, held_out = tasks.digits(device)
    model = tasks.ConvNet().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    scaler = torch.amp.GradScaler(device.type)
    region = torch.autocast(device.type, dtype=torch.float16)

    for images, labels in tasks.batches(data, 64, steps):
        images.requires_grad_()
        with region:
            loss = nn.functional.cross_entropy(model(images), labels)
        (scaled,) = torch.autograd.grad(scaler.scale(loss), images, create_graph=True)
        by_image = scaled * (1.0 / scaler.get_scale())  # float32, as the images are
        with region:
            penalty = by_image.flatten(1).norm(dim=1).square().sum()  # autocast takes the norm in float32
            total = loss + 10.0 * penalty
        scaler.scale(total).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()

    return tasks.accuracy(model, held_out, region)


if __name__ == "__main__":
    tasks.main(train, steps=200)
