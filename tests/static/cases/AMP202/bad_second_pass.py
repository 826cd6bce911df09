"""Two passes of one window, each unscaled: what the first left is zeroed, so nothing mixes, but the second raises."""

import torch


def train(model, optimizer, loss_fn, batches):
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        for weight in model.parameters():
            weight.data.add_(weight.grad, alpha=0.05)
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)  # expect: AMP202
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
