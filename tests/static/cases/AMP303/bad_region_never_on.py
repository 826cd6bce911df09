"""A scaler over regions that are all off."""

from contextlib import nullcontext

import torch
from torch.amp import GradScaler, autocast


def train(model, loss_fn, optimizer, batches, mixed):
    scaler = GradScaler() if mixed and torch.cuda.is_available() else None
    for batch in batches:
        optimizer.zero_grad()
        with autocast("cuda", enabled=False) if mixed else nullcontext():  # expect: AMP303 likely
            loss = loss_fn(model(batch))
        if scaler is not None:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        else:
            loss.backward()
            optimizer.step()
