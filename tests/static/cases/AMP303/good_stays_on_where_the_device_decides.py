"""A setting turns off a region that names no dtype, and its scaler, or the scaling."""

import torch


def both(model, optimizer, loader, loss_fn, device, amp):
    scaler = torch.amp.GradScaler("cuda", enabled=amp)
    for inputs, targets in loader:
        optimizer.zero_grad()
        with torch.autocast(device.type, enabled=amp):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def left_out(model, optimizer, loader, loss_fn, device, amp):
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in loader:
        optimizer.zero_grad()
        with torch.autocast(device.type, enabled=amp):
            loss = loss_fn(model(inputs), targets)
        if amp:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        else:
            loss.backward()
            optimizer.step()
