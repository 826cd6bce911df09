"""Half weights whose float32 masters, copied before the cast, are what the scaler steps."""

import torch
from torch import nn


def train(model, loader):
    masters = [nn.Parameter(weight.detach().clone()) for weight in model.parameters()]
    model.half()
    optimizer = torch.optim.AdamW(masters, lr=1e-3)
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in loader:
        loss = nn.functional.cross_entropy(model(inputs.half()).float(), targets)
        scaler.scale(loss).backward()
        for master, weight in zip(masters, model.parameters(), strict=True):
            master.grad = weight.grad.float()
            weight.grad = None
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(masters, 1.0)
        scaler.step(optimizer)
        scaler.update()
        with torch.no_grad():
            for master, weight in zip(masters, model.parameters(), strict=True):
                weight.copy_(master)
