"""The scaler follows the device, too, wherever torch has such scalers."""

import torch


def pick():
    return "mps" if torch.backends.mps.is_available() else "cuda"


def train(model, optimizer, batches):
    device = pick()
    try:
        scaler = torch.amp.GradScaler(device=device)
    except (AttributeError, TypeError):
        scaler = torch.cuda.amp.GradScaler()
    for batch in batches:
        with torch.autocast(device_type=model.device.type):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
