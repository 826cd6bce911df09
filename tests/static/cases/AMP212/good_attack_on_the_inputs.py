"""The first backward is for the inputs' gradients; what it leaves in the weights is dropped before the real one."""

import torch


def adversarial(model, optimizer, scaler, batches, loss_fn):
    for inputs, targets in batches:
        delta = torch.zeros_like(inputs, requires_grad=True)
        with torch.autocast("cuda", dtype=torch.float16):
            attack = loss_fn(model(inputs + delta), targets)
        scaler.scale(attack).backward()
        attacked = inputs + delta.grad.sign()
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(attacked), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
