"""Two optimizers share a backward: both step, then one update."""

import torch
from torch.amp import GradScaler, autocast


def train(model, loss_fn, batches):
    encoder_optimizer = torch.optim.AdamW(model.encoder.parameters(), lr=1e-4)
    head_optimizer = torch.optim.AdamW(model.head.parameters(), lr=1e-3)
    scaler = GradScaler("cuda")
    for inputs, targets in batches:
        inputs = inputs.to("cuda")
        targets = targets.to("cuda")
        encoder_optimizer.zero_grad()
        head_optimizer.zero_grad()
        with autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.unscale_(encoder_optimizer)
        torch.nn.utils.clip_grad_norm_(model.encoder.parameters(), 1.0)
        scaler.step(encoder_optimizer)
        scaler.step(head_optimizer)
        scaler.update()
    return model
