"""Gradients that go to the host: of an input, in a helper that every step runs."""

import torch
from torch.amp import autocast


def worst_direction(model, inputs):
    direction = torch.randn_like(inputs, requires_grad=True)
    for _ in range(1):
        gap = model(inputs + 1e-3 * direction).pow(2).mean()
        gap.backward()
        found = direction.grad.clone().cpu()  # expect: PERF101
        model.zero_grad()
    return found.to(inputs.device)


def largest(head):
    return head.weight.grad.abs().max().cpu()  # expect: PERF101 likely


def train(model, loss_fn, optimizer, scaler, loader):
    for batch in loader:
        optimizer.zero_grad()
        direction = worst_direction(model, batch)
        with autocast("cuda"):
            loss = loss_fn(model(batch), model(batch + direction))
        scaler.scale(loss).backward()
        largest(model.head)
        scaler.step(optimizer)
        scaler.update()
