"""Gradients that are rewritten unscaled, or in a way that the scale goes through."""

import torch
from timm.utils import adaptive_clip_grad
from torch.amp import GradScaler, autocast


def scaled(model, batch, scaler, optimizer):
    optimizer.zero_grad()
    with autocast("cuda"):
        loss = model(batch)
    scaler.scale(loss).backward()


def unscaled_first(model, batches, optimizer):
    scaler = GradScaler("cuda")
    for batch in batches:
        scaled(model, batch, scaler, optimizer)
        scaler.unscale_(optimizer)
        adaptive_clip_grad(model.parameters(), 0.01)
        for p in model.parameters():
            p.grad = torch.clamp(p.grad, -1, 1)
        scaler.step(optimizer)
        scaler.update()


def frozen_rows(model, batches, optimizer, rows):
    scaler = GradScaler("cuda")
    for batch in batches:
        scaled(model, batch, scaler, optimizer)
        model.embedding.weight.grad[rows] = 0
        model.embedding.weight.grad.copy_(model.embedding.weight.grad * model.mask)
        for p in model.parameters():
            p.grad = torch.where(p == 0, torch.zeros_like(p), p.grad)
            p.grad.copy_(torch.where(p > model.limit, p, p.grad))
        scaler.step(optimizer)
        scaler.update()


def of_other_tensors(model, batches, optimizer, noise):
    scaler = GradScaler("cuda")
    for batch in batches:
        scaled(model, torch.where(batch > 0, batch, noise), scaler, optimizer)
        torch.clamp(noise, -1, 1, out=noise)
        scaler.step(optimizer)
        scaler.update()
