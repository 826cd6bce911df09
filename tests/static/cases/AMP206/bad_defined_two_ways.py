"""A helper that scales where there is no use for it, and leaves the loss alone where there is a scaler."""

import torch


def train(model, optimizer, batches, use_amp):
    scaler = torch.amp.GradScaler("cuda")
    if use_amp:

        def scaled(loss):
            return loss

    else:

        def scaled(loss):
            return scaler.scale(loss)

    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", enabled=use_amp):
            loss = model(batch).mean()
        scaled(loss).backward()  # expect: AMP206
        if use_amp:
            scaler.step(optimizer)
            scaler.update()
        else:
            optimizer.step()
