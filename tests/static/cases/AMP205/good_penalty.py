"""Penalties in float32, or scaled."""

import torch
from torch.amp import GradScaler, autocast


def penalty_in_float32(critic, mixed):
    with autocast("cuda", enabled=False):
        out = critic(mixed.float())
        (slope,) = torch.autograd.grad(out.sum(), mixed, create_graph=True)
    return ((slope.flatten(1).norm(dim=1) - 1) ** 2).mean()


def scaled_penalty(critic, mixed, scaler):
    out = scaler.scale(critic(mixed))
    (slope,) = torch.autograd.grad(out.sum(), mixed, create_graph=True)
    slope = slope / scaler.get_scale()
    return ((slope.flatten(1).norm(dim=1) - 1) ** 2).mean()


def bfloat16_penalty(critic, mixed):
    with autocast("cuda", dtype=torch.bfloat16):
        out = critic(mixed)
        (slope,) = torch.autograd.grad(out.sum(), mixed, create_graph=True)
    return slope.norm()


def plain_penalty(critic, mixed):
    (slope,) = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)
    return slope.norm()


def saliency(model, image):
    with autocast("cuda"):
        (slope,) = torch.autograd.grad(model(image).sum(), image)
    return slope.abs()


def train(critic, optimizer, batches):
    scaler = GradScaler("cuda")
    for real, fake in batches:
        optimizer.zero_grad()
        with autocast("cuda"):
            loss = critic(fake).mean() - critic(real).mean()
            loss = loss + penalty_in_float32(critic, (real + fake) / 2)
            loss = loss + scaled_penalty(critic, (real + fake) / 2, scaler)
        loss = loss + bfloat16_penalty(critic, real) + plain_penalty(critic, real)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def refined(latents, critic):
    for _ in range(3):
        (slope,) = torch.autograd.grad(critic(latents).sum(), latents, create_graph=True)
        latents = latents + 0.9 * slope
    return latents


def with_a_switch(critic, optimizer, batches, plain, scaler):
    for batch in batches:
        with autocast("cuda") if not plain else torch.enable_grad():
            loss = critic(batch).mean()
            if plain:
                loss = loss + plain_penalty(critic, batch)
            loss = loss + critic(refined(batch, critic)).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
