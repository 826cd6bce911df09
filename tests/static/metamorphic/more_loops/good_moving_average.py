"""An average of the weights follows each step."""

import torch
from torch.amp import GradScaler, autocast


def train(model, loss_fn, batches):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scaler = GradScaler("cuda")
    average = [weight.detach().clone() for weight in model.parameters()]
    for inputs, targets in batches:
        inputs = inputs.to("cuda")
        targets = targets.to("cuda")
        optimizer.zero_grad()
        with autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        for kept, weight in zip(average, model.parameters(), strict=True):
            kept.lerp_(weight.detach(), 0.1)
    return model
