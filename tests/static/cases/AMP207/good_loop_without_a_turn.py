"""A step whose inner loop may have no turn, called again and again, with a scaler that a condition switches."""

import torch
from torch.amp import GradScaler


def train_step(model, optimizer, scaler, micro_batches):
    for batch in micro_batches:
        with torch.autocast("cuda", enabled=scaler.is_enabled()):
            loss = model(batch) / len(micro_batches)
        scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)


def train(model, optimizer, batches, device, dtype):
    scaler = GradScaler(device.type, enabled=device.type == "cuda" and dtype is torch.float16)
    while batches:
        train_step(model, optimizer, scaler, batches.pop())
