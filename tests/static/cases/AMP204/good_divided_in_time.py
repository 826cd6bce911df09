"""The scale that divides is the one that multiplied; another scaler's update changes nothing."""

import torch


def train(model, optimizer, batches, log):
    scaler, other = torch.amp.GradScaler("cuda"), torch.amp.GradScaler("cuda")
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch).mean()
        big = scaler.scale(loss)
        big.backward()
        scaler.step(optimizer)
        other.update()
        now = scaler.get_scale()
        scaler.update()
        log(big.item() / now, scaler.get_scale())


def shown(model, optimizer, scaler: torch.amp.GradScaler, batch):
    with torch.autocast("cuda", dtype=torch.float16):
        loss = model(batch).mean()
    scaled = scaler.scale(loss) if scaler is not None else loss
    scaled.backward()
    scaler.step(optimizer)
    scaler.update()
    return loss.detach(), scaler.get_scale()
