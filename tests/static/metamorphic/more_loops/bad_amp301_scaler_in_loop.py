"""A scaler of its own for each batch."""

import torch
from torch.amp import GradScaler, autocast


def train(model, loss_fn, batches):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for inputs, targets in batches:
        inputs = inputs.to("cuda")
        targets = targets.to("cuda")
        optimizer.zero_grad()
        with autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler = GradScaler("cuda")  # expect: AMP301
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    return model
