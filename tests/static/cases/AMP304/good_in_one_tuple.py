"""A function chooses the dtype and whether there is a scaler, and gives both."""

import torch


def settings(device):
    if device.type != "cuda":
        return False, torch.float32, False
    if torch.cuda.is_bf16_supported():
        return True, torch.bfloat16, False
    return True, torch.float16, True


def make_scaler(enabled, device_type):
    return torch.amp.GradScaler(device_type, enabled=enabled)


def train(model, optimizer, batches, device):
    use_amp, dtype, use_scaler = settings(device)
    scaler = make_scaler(use_scaler, device.type)
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast(device.type, dtype=dtype, enabled=use_amp):
            loss = model(batch).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
