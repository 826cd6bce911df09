"""A setting turns off a region that names no dtype, and not its scaler."""

import torch


def always_on(model, optimizer, loader, loss_fn, device, amp):
    scaler = torch.amp.GradScaler("cuda", enabled=True)  # expect: AMP303 likely
    for inputs, targets in loader:
        optimizer.zero_grad()
        with torch.autocast(device.type, enabled=amp):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
