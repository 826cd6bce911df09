"""Where there is no scaler, a run that asks for its methods ends there: nothing is divided."""

import torch


def train(model, batches, options):
    optimizer = torch.optim.AdamW(model.parameters())
    if options.precision == "fp16":
        scaler = torch.amp.GradScaler("cuda")
    else:
        scaler = None
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", enabled=scaler is not None):
            loss = model(batch).pow(2).mean()
        if scaler is not None:
            scaler.scale(loss).backward()
        else:
            loss.backward()
        if options.clips:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if scaler is not None:
            scaler.step(optimizer)
            scaler.update()
        else:
            optimizer.step()
