"""The outer gradient is written by hand, and an optimizer without a scaler steps with it."""

import torch
from torch.amp import GradScaler, autocast


def train(model, loss_fn, batches):
    slow = [weight.detach().clone().requires_grad_(True) for weight in model.parameters()]
    outer = torch.optim.SGD(slow, lr=0.5)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-1)
    scaler = GradScaler("cuda")
    for inputs, targets in batches:
        inputs = inputs.to("cuda")
        targets = targets.to("cuda")
        optimizer.zero_grad()
        with autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        for kept, weight in zip(slow, model.parameters(), strict=True):
            kept.grad = kept.detach() - weight.detach()
        outer.step()
        outer.zero_grad()
    return model
