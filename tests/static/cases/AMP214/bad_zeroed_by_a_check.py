"""A check hides an overflow from the scaler: it zeroes the gradients, and the scaler finds no inf."""

import torch


def train(model, optimizer, loss_fn, batches):
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        if any(not torch.isfinite(weight.grad).all() for weight in model.parameters()):
            optimizer.zero_grad(set_to_none=False)  # expect: AMP214
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def by_a_flag(model, optimizer, loss_fn, batches, limit):
    scaler = torch.amp.GradScaler("cuda")
    for number, (inputs, targets) in enumerate(batches):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss / 2).backward()
        too_large = False
        if (number + 1) % 2 == 0:
            scaler.unscale_(optimizer)
            size = torch.nn.utils.clip_grad_norm_(model.parameters(), limit)
            if size > limit * 5:
                too_large = True
            if not too_large:  # expect: AMP214
                scaler.step(optimizer)
                scaler.update()
            optimizer.zero_grad()
