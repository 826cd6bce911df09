"""The check is of a loss, or lets inf pass: a step may be skipped where the schedule is reached."""

import torch
from torch import nn


def of_the_loss(model, loader, optimizer, scheduler):
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.mse_loss(model(inputs), targets)
        if not torch.isfinite(loss):
            continue
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()  # expect: AMP213 likely


def of_nan_alone(model, loader, optimizer, scheduler):
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.mse_loss(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        size = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if torch.isnan(size):
            scaler.update()
            continue
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()  # expect: AMP213 likely
