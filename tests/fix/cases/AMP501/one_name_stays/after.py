import torch
from torch.cpu.amp import (
    GradScaler,  # a base class, with the old signature
    autocast,
)


class Careful(GradScaler):
    pass


def train(model, loss_fn, optimizer, scaler, batches, device):
    plain = torch.amp.GradScaler(
        "cpu",
        # small, for float16
        init_scale=1024.0,
        growth_factor=2.0,
        growth_interval=100,
    )
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.amp.autocast("cpu"): loss = loss_fn(model(inputs), targets)
        plain.scale(loss).backward()
        plain.step(optimizer)
        plain.update()
