"""How far to clip is no question for the norm at hand."""

import torch


def train(model, batches, optimizer, max_norm):
    scaler = torch.amp.GradScaler("cuda")
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch)
        scaler.scale(loss).backward()
        if max_norm > 0:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        optimizer.zero_grad()  # expect: AMP212
        scaler.step(optimizer)
        scaler.update()
