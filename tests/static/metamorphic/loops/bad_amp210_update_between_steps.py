"""An update stands between two steps that share a backward."""

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
        scaler.step(encoder_optimizer)
        scaler.update()  # expect: AMP210
        scaler.step(head_optimizer)
        scaler.update()
    return model
