"""On a CPU a region that names no dtype is bfloat16, and elsewhere the one of its own."""

import torch


def on_a_cpu(model, optimizer, loader, loss_fn, amp):
    scaler = torch.amp.GradScaler("cuda", enabled=False)
    for inputs, targets in loader:
        optimizer.zero_grad()
        with torch.autocast("cpu", enabled=amp):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def of_a_dtype(model, optimizer, loader, loss_fn, device, amp):
    scaler = torch.amp.GradScaler("cuda", enabled=False)
    for inputs, targets in loader:
        optimizer.zero_grad()
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=amp):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
