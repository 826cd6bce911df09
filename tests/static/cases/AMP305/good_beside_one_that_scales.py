"""Where the loss that a function steps on is computed elsewhere, or in a type that needs no scale, nothing is told."""

import torch
from torch.amp import GradScaler


def train(model, optimizer, loader, loss_fn):
    scaler = GradScaler("cuda")
    for inputs, targets in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def tune(model, optimizer, loader, loss_fn):
    for inputs, targets in loader:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = loss_fn(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def scales_by_hand(model, optimizer, loader, loss_fn, static_scale):
    for inputs, targets in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets) * static_scale
        optimizer.zero_grad()
        loss.backward()
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                parameter.grad.div_(static_scale)
        optimizer.step()
