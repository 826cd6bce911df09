"""A region that names no dtype is float16 on CUDA, whatever it is elsewhere."""

import torch


def off(model, optimizer, loader, loss_fn, device, amp):
    scaler = torch.amp.GradScaler("cuda", enabled=False)  # expect: AMP303 likely
    for inputs, targets in loader:
        optimizer.zero_grad()
        with torch.autocast(device.type if device.type != "mps" else "cpu", enabled=amp):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
