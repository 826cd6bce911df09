"""Two backwards with zeroed gradients between: the weights are moved, and moved back."""

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
        steps = [0.01 * weight.grad.nan_to_num(0.0, 0.0, 0.0) for weight in model.parameters()]
        for weight, step in zip(model.parameters(), steps, strict=True):
            weight.data.add_(step)
        scaler.update()
        optimizer.zero_grad()
        with autocast("cuda", dtype=torch.float16):
            again = loss_fn(model(inputs), targets)
        scaler.scale(again).backward()
        for weight, step in zip(model.parameters(), steps, strict=True):
            weight.data.sub_(step)
        scaler.step(optimizer)
        scaler.update()
    return model
