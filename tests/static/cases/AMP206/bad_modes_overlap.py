"""A constant that two questions name is on both ways: bfloat16 trains without scale and is stepped by the scaler."""

import torch


def train(model, loss_fn, optimizer, batches, precision):
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        optimizer.zero_grad()
        loss = loss_fn(model(inputs), targets)
        if precision in ("bf16", "fp32"):
            loss.backward()  # expect: AMP206
        else:
            scaler.scale(loss).backward()
        if precision in ("fp16", "bf16"):
            scaler.step(optimizer)
            scaler.update()
        else:
            optimizer.step()
