"""Scaled gradients that overflow are skipped without an update: the scale that is too large stays, and so does the skip."""

import torch


def by_norm(model, optimizer, loader, loss_fn):
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        grad_norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
        if not torch.isfinite(grad_norm):  # expect: AMP214
            continue
        scaler.step(optimizer)
        scaler.update()


def by_each(model, optimizer, loader, loss_fn):
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        if all(torch.isfinite(p.grad).all() for p in model.parameters()):  # expect: AMP214
            scaler.step(optimizer)
            scaler.update()
        optimizer.zero_grad()
