import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    pairs = iter(batches)
    for first in pairs:
        for x, y in (first, next(pairs)):
            with torch.autocast(device_type="cpu", dtype=torch.float16):
                error = loss_fn(model(x), y) / 2
            scaler.scale(error).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
