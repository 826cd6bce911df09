"""A check for NaN leads past nothing that is missing: the update is."""

import torch


def train(model, batches, optimizer, limit):
    scaler = torch.amp.GradScaler("cuda")
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch)
        if torch.isnan(loss).any():
            print("left out")
            continue
        scaler.scale(loss).backward()
        if limit:
            scaler.unscale_(optimizer)
            try:
                torch.nn.utils.clip_grad_norm_(model.parameters(), limit, error_if_nonfinite=True)
                scaler.step(optimizer)  # expect: AMP209
            except RuntimeError:
                print("not finite")
        else:
            scaler.step(optimizer)
            scaler.update()
