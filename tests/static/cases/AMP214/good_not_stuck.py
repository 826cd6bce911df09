"""The way past the step updates as well, or the check is of the loss, or the training ends there."""

import torch


def updated(model, optimizer, loader, loss_fn):
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        grad_norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
        if not torch.isfinite(grad_norm):
            scaler.update(scaler.get_scale() / 2)
            continue
        scaler.step(optimizer)
        scaler.update()


def of_the_loss(model, optimizer, loader, loss_fn):
    """A loss that is inf before it is scaled has nothing to do with the scale."""
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        if not torch.isfinite(loss):
            continue
        if any(torch.isnan(p.grad).any() for p in model.parameters()):
            optimizer.zero_grad()
            scaler.update(scaler.get_scale() / 2)
            continue
        scaler.step(optimizer)
        scaler.update()


def told(model, optimizer, loader, loss_fn, is_odd):
    """The check leads past nothing."""
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        if not all(torch.isfinite(p.grad).all() for p in model.parameters()):
            torch.nn.utils.clip_grad_value_(model.parameters(), 1.0)
        if is_odd(inputs):
            optimizer.zero_grad()
            continue
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def twice(model, optimizer, loader, loss_fn):
    """Nothing comes to the update from there."""
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        if not all(torch.isfinite(p.grad).all() for p in model.parameters()):
            torch.nn.utils.clip_grad_value_(model.parameters(), 1.0)
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
