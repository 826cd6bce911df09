"""Penalties on inner gradients that are float16 and unscaled."""

import torch
from torch.amp import GradScaler, autocast


def penalty(critic, mixed):
    out = critic(mixed)
    (slope,) = torch.autograd.grad(
        outputs=out, inputs=mixed, grad_outputs=torch.ones_like(out), create_graph=True, retain_graph=True
    )
    return ((slope.flatten(1).norm(dim=1) - 1) ** 2).mean()


def train(critic, optimizer, batches):
    scaler = GradScaler("cuda")
    for real, fake in batches:
        optimizer.zero_grad()
        with autocast("cuda"):
            loss = critic(fake).mean() - critic(real).mean()
            loss = loss + 10 * penalty(critic, (real + fake) / 2)  # expect: AMP205
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
