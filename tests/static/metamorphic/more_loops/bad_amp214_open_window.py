"""Where the norm is large, the window stays open."""

import torch
from torch.amp import GradScaler, autocast


def train(model, loss_fn, batches):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scaler = GradScaler("cuda")
    for inputs, targets in batches:
        inputs = inputs.to("cuda")
        targets = targets.to("cuda")
        optimizer.zero_grad()
        with autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if norm < 0.8:  # expect: AMP214
            scaler.step(optimizer)
            scaler.update()
    return model
