"""Two backwards through one graph, then one step."""

import torch
from torch.amp import GradScaler, autocast


def train(model, loss_fn, batches):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scaler = GradScaler("cuda")
    for inputs, targets in batches:
        inputs = inputs.to("cuda")
        targets = targets.to("cuda")
        optimizer.zero_grad(set_to_none=True)
        with autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        penalty = model.penalty()
        scaler.scale(loss).backward(retain_graph=True)
        scaler.scale(penalty).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_value_(model.parameters(), 0.5)
        scaler.step(optimizer)
        scaler.update()
    return model
