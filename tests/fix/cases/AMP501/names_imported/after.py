import torch
from torch.amp import autocast, GradScaler  # both go


def train(model, loss_fn, optimizer, scaler, batches, device):
    scaler: GradScaler = GradScaler("cuda", init_scale=2.0**10, enabled=device == "cuda")
    use_amp = scaler.is_enabled()
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with autocast("cuda", enabled=use_amp):  # the flag, not the dtype
            loss = loss_fn(model(inputs), targets)
        with autocast("cuda", enabled=use_amp, dtype=torch.bfloat16):
            loss = loss + loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
