"""Losses added up."""

import torch


def undivided(model, optimizer, scaler, batches, args):
    for i, batch in enumerate(batches):
        with torch.autocast("cuda"):
            loss = model(batch)
        scaler.scale(loss).backward()  # expect: AMP216 likely
        if (i + 1) % args.accumulate == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
