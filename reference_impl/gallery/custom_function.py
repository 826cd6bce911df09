"""A custom autograd function in float16: its forward runs in float32, and its backward sees the same dtypes.

Without `custom_fwd` it would get half inputs wherever a region is on, and its exponential would overflow at 11.1.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.amp import custom_bwd, custom_fwd

from reference_impl.gallery import tasks

DEVICE = tasks.device()


class Softplus(torch.autograd.Function):
    """log(1 + exp(x)), elementwise, with a backward that keeps the input alone."""

    @staticmethod
    @custom_fwd(device_type=DEVICE.type, cast_inputs=torch.float32)
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x.exp().log1p().where(x < 20, x)

    @staticmethod
    @custom_bwd(device_type=DEVICE.type)
    def backward(ctx: Any, *upstream: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        back: Tensor = upstream[0] * x.sigmoid()
        return back


class Smooth(tasks.ConvNet):
    """The digits' network with smooth activations."""

    def forward(self, images: Tensor) -> Tensor:
        x: Tensor = Softplus.apply(self.norm(self.first(images)))
        x = Softplus.apply(self.second(x))
        scores: Tensor = self.head(x.flatten(1))
        return scores


def train(steps: int) -> float:
    """Classify digits; returns the held-out accuracy."""
    torch.manual_seed(0)
    data, held_out = tasks.digits(DEVICE)
    model = Smooth().to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    scaler = torch.amp.GradScaler(DEVICE.type)
    region = torch.autocast(DEVICE.type, dtype=torch.float16)

    for images, labels in tasks.batches(data, 64, steps):
        with region:
            loss = nn.functional.cross_entropy(model(images), labels)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()

    return tasks.accuracy(model, held_out, region)


if __name__ == "__main__":
    tasks.main(train, steps=200)
