"""float16 weights with float32 masters: half the memory of weights and gradients, and updates that are not lost.

The optimizer never sees a half weight. A weight near 1 has steps of 0.001 in float16: an update below half of that is
rounded away, and training stands still without a word.
"""

from __future__ import annotations

from contextlib import nullcontext

import torch
from torch import nn

from reference_impl.gallery import tasks


def train(steps: int) -> float:
    """Predict characters with half weights; returns the held-out accuracy."""
    torch.manual_seed(0)
    device = tasks.device()
    data, held_out = tasks.text(device)
    model = tasks.CharGPT().to(device)
    masters = [nn.Parameter(weight.detach().clone()) for weight in model.parameters()]  # float32, before the cast
    model.half()
    optimizer = torch.optim.AdamW(masters, lr=3e-3)
    scaler = torch.amp.GradScaler(device.type)

    for tokens, targets in tasks.batches(data, 16, steps):
        scores = model(tokens).float()  # the loss in float32: no region does it here
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), targets.flatten())
        scaler.scale(loss).backward()
        for master, weight in zip(masters, model.parameters(), strict=True):
            master.grad = None if weight.grad is None else weight.grad.float()
            weight.grad = None
        scaler.unscale_(optimizer)  # of the masters' gradients, in float32
        nn.utils.clip_grad_norm_(masters, 1.0)
        scaler.step(optimizer)
        scaler.update()
        with torch.no_grad():
            for master, weight in zip(masters, model.parameters(), strict=True):
                weight.copy_(master)  # rounded anew from the master each time

    return tasks.accuracy(model, held_out, nullcontext())


if __name__ == "__main__":
    tasks.main(train, steps=200)
