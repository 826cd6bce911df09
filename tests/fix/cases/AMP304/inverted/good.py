import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    for x, y in batches:
        with torch.autocast(device_type="cpu", dtype=torch.float16):
            error = loss_fn(model(x), y)
        scaler.scale(error).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    return scaler.get_scale()
