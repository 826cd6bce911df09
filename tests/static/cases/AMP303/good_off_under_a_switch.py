"""The scaler is off where the region is not on either, or needs none."""

import torch

USE_AMP = False


def both_off(model, optimizer, loader, loss_fn):
    scaler = torch.amp.GradScaler("cuda", enabled=USE_AMP)
    for inputs, targets in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16, enabled=USE_AMP):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def chosen(model, optimizer, loader, loss_fn, use_amp):
    if use_amp:
        scaler = torch.amp.GradScaler("cuda")
    else:
        scaler = torch.amp.GradScaler("cuda", enabled=False)
    for inputs, targets in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16, enabled=use_amp):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def bfloat(model, optimizer, loader, loss_fn, use_amp):
    scaler = torch.amp.GradScaler("cuda", enabled=False)
    for inputs, targets in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=use_amp):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
