"""float16 without a scaler."""

import torch
from torch.amp import autocast


def train(model, loss_fn, batches):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for inputs, targets in batches:
        inputs = inputs.to("cuda")
        targets = targets.to("cuda")
        optimizer.zero_grad()
        with autocast("cuda", dtype=torch.float16):  # expect: AMP305
            loss = loss_fn(model(inputs), targets)
        loss.backward()
        optimizer.step()
    return model
