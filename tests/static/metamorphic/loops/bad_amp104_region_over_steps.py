"""One region covers two steps: the second forward computes with the casts of the old weights."""

import torch
from torch.amp import GradScaler, autocast


def train(model, loss_fn, batches):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scaler = GradScaler("cuda")
    for inputs, targets in batches:
        inputs = inputs.to("cuda")
        targets = targets.to("cuda")
        with autocast("cuda", dtype=torch.float16):  # expect: AMP104
            for _ in range(3):
                optimizer.zero_grad()
                loss = loss_fn(model(inputs), targets)
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
    return model
