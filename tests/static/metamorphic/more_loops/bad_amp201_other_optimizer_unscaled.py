"""One optimizer is unscaled, the other one stepped."""

import torch
from torch.amp import GradScaler, autocast


def train(model, loss_fn, batches):
    head_optimizer = torch.optim.AdamW(model.head.parameters(), lr=1e-3)
    optimizer = torch.optim.AdamW(model.encoder.parameters(), lr=1e-3)
    scaler = GradScaler("cuda")
    for inputs, targets in batches:
        inputs = inputs.to("cuda")
        targets = targets.to("cuda")
        optimizer.zero_grad()
        with autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        head_optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(head_optimizer)
        torch.nn.utils.clip_grad_norm_(model.encoder.parameters(), 1.0)  # expect: AMP201
        scaler.step(optimizer)
        scaler.step(head_optimizer)
        scaler.update()
    return model
