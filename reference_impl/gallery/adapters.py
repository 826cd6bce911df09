"""Adapters (LoRA) on frozen half weights: only what is trained is float32, and only that has gradients and state."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from reference_impl.gallery import tasks

RANK = 8


class Adapted(nn.Module):
    """A frozen linear layer in float16, and beside it a trained correction of rank `RANK`, in float32."""

    def __init__(self, frozen: nn.Linear) -> None:
        super().__init__()
        self.frozen = frozen.half()
        self.down = nn.Parameter(torch.randn(RANK, frozen.in_features) / RANK)  # float32, whatever the layer is in
        self.up = nn.Parameter(torch.zeros(frozen.out_features, RANK))  # no correction at first

    def forward(self, x: Tensor) -> Tensor:
        correction = nn.functional.linear(nn.functional.linear(x, self.down), self.up)
        y: Tensor = self.frozen(x) + correction  # in a region both are float16
        return y


def train(steps: int) -> float:
    """Adapt the perceptrons of a text model; returns the held-out accuracy."""
    torch.manual_seed(0)
    device = tasks.device()
    data, held_out = tasks.text(device)
    model = tasks.CharGPT().requires_grad_(requires_grad=False)
    for block in model.blocks:
        for name in ("up", "down"):
            setattr(block, name, Adapted(getattr(block, name)))
    model.to(device)
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-2)
    scaler = torch.amp.GradScaler(device.type)
    region = torch.autocast(device.type, dtype=torch.float16)

    for tokens, targets in tasks.batches(data, 16, steps):
        with region:
            loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(trained, 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()

    return tasks.accuracy(model, held_out, region)


if __name__ == "__main__":
    tasks.main(train, steps=200)
