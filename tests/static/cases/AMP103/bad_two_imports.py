"""The same constructor of an old and of a new torch."""

import torch

try:
    from torch.amp import autocast

    DEVICE = ("cuda",)
except ImportError:
    from torch.cuda.amp import autocast

    DEVICE = ()


def train(model, loss_fn, optimizer, batches):
    for inputs, targets in batches:
        optimizer.zero_grad()
        autocast(*DEVICE, dtype=torch.bfloat16)  # expect: AMP103
        loss = loss_fn(model(inputs), targets)
        loss.backward()
        optimizer.step()
