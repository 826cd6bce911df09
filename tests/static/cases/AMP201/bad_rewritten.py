"""Scaled gradients that functions, a choice or a mask rewrite."""

import torch
from timm.utils import adaptive_clip_grad
from torch.amp import GradScaler, autocast


def scaled(model, batch, scaler, optimizer):
    optimizer.zero_grad()
    with autocast("cuda"):
        loss = model(batch)
    scaler.scale(loss).backward()


def by_a_function(model, batches, optimizer):
    scaler = GradScaler("cuda")
    for batch in batches:
        scaled(model, batch, scaler, optimizer)
        for p in model.parameters():
            p.grad = torch.clamp(p.grad, -1, 1)  # expect: AMP201
        scaler.step(optimizer)
        scaler.update()


def into_itself(model, batches, optimizer):
    scaler = GradScaler("cuda")
    for batch in batches:
        scaled(model, batch, scaler, optimizer)
        for p in model.parameters():
            torch.nan_to_num(p.grad, nan=0.0, posinf=1e5, neginf=-1e5, out=p.grad)  # expect: AMP201
        scaler.step(optimizer)
        scaler.update()


def by_a_mask(model, batches, optimizer):
    scaler = GradScaler("cuda")
    for batch in batches:
        scaled(model, batch, scaler, optimizer)
        for p in model.parameters():
            if p.grad is not None:
                p.grad[torch.isnan(p.grad)] = 0  # expect: AMP201
        scaler.step(optimizer)
        scaler.update()


def where_it_is_finite(model, batches, optimizer):
    scaler = GradScaler("cuda")
    for batch in batches:
        scaled(model, batch, scaler, optimizer)
        for p in model.parameters():
            p.grad = torch.where(torch.isfinite(p.grad), p.grad, torch.zeros_like(p.grad))  # expect: AMP201
        scaler.step(optimizer)
        scaler.update()


def clip_by_the_weights(parameters, factor):
    for p in parameters:
        limit = p.detach().norm().clamp(min=1e-3) * factor
        gradient = p.grad.detach()
        grad_norm = torch.linalg.norm(gradient)
        chosen = torch.where(grad_norm < limit, gradient, gradient * limit / grad_norm)
        p.grad.detach().copy_(chosen)  # expect: AMP201


def by_own_means(model, batches, optimizer):
    scaler = GradScaler("cuda")
    for batch in batches:
        scaled(model, batch, scaler, optimizer)
        clip_by_the_weights(model.parameters(), 0.01)
        scaler.step(optimizer)
        scaler.update()


def adaptively(model, batches, optimizer):
    scaler = GradScaler("cuda")
    for batch in batches:
        scaled(model, batch, scaler, optimizer)
        adaptive_clip_grad(model.parameters(), 0.01)  # expect: AMP201
        scaler.step(optimizer)
        scaler.update()
