"""A check that ends the run: the first overflows are there for the scaler to find its scale by."""

import math

import torch


def by_the_norm_of_scaled_gradients(model, optimizer, loader, loss_fn):
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        grad_norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
        if not torch.isfinite(grad_norm):  # expect: AMP214 likely
            raise FloatingPointError
        scaler.step(optimizer)
        scaler.update()


def after_unscale(model, optimizer, loader, loss_fn):
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        size = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        broken = math.isinf(size) or math.isnan(size)
        if broken:  # expect: AMP214 likely
            raise RuntimeError("gradients are broken")
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
