"""The penalty's gradients are divided by the scale."""

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
        scaled = torch.autograd.grad(scaler.scale(loss), list(model.parameters()), create_graph=True)
        gradients = [each / scaler.get_scale() for each in scaled]
        with autocast("cuda", dtype=torch.float16):
            penalty = sum(each.float().square().sum() for each in gradients)
            total = loss + 0.1 * penalty
        scaler.scale(total).backward()
        scaler.step(optimizer)
        scaler.update()
    return model
