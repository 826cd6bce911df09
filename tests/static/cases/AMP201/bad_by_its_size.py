"""Gradients are multiplied by what comes of their own size, which holds the scale."""

import torch


@torch.no_grad()
def adaptive(parameters, limit=0.01):
    for parameter in parameters:
        if parameter.grad is None:
            continue
        size = parameter.norm().clamp_(min=1e-3)
        steep = parameter.grad.norm()
        factor = (size * limit / (steep + 1e-6)).clamp(max=1.0)
        parameter.grad.mul_(factor)  # expect: AMP201


@torch.no_grad()
def normalised(parameters):
    for parameter in parameters:
        parameter.grad.div_(torch.norm(parameter.grad) + 1e-6)  # expect: AMP201


def train(model, loss_fn, optimizer, loader):
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        adaptive(model.body.parameters())
        normalised(model.head.parameters())
        scaler.step(optimizer)
        scaler.update()
