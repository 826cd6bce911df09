"""Unscale, clip, step, update and zero at the end of each window only."""

import torch
from torch.amp import GradScaler, autocast


def train(model, loss_fn, batches, window):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scaler = GradScaler("cuda")
    for number, (inputs, targets) in enumerate(batches):
        inputs = inputs.to("cuda")
        targets = targets.to("cuda")
        with autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets) / window
        scaler.scale(loss).backward()
        if (number + 1) % window == 0 or number + 1 == len(batches):
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
    return model
