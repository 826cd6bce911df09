"""The hand-written check comes after `unscale_`, which has recorded what the update on the way past the step needs."""

import torch


def by_a_flag(model, optimizer, loader, loss_fn):
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        overflow = any(not weight.grad.isfinite().all() for weight in model.parameters())
        if overflow:
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
            continue
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
