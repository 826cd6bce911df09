import torch
from torch.cuda.amp import autocast, GradScaler  # both go


def train(model, loss_fn, optimizer, scaler, batches, device):
    scaler: GradScaler = GradScaler(2.0**10, enabled=device == "cuda")
    use_amp = scaler.is_enabled()
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with autocast(use_amp):  # the flag, not the dtype
            loss = loss_fn(model(inputs), targets)
        with autocast(use_amp, torch.bfloat16):
            loss = loss + loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
