"""The last window closes with the last batch, and is divided by its own size."""

import torch
from torch.amp import GradScaler, autocast


def train(model, loss_fn, batches):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scaler = GradScaler("cuda")
    optimizer.zero_grad()
    for number, (inputs, targets) in enumerate(batches):
        inputs = inputs.to("cuda")
        targets = targets.to("cuda")
        size = min(3, len(batches) - number // 3 * 3)
        with autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets) / size
        scaler.scale(loss).backward()
        if (number + 1) % 3 == 0 or number + 1 == len(batches):
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
    return model
