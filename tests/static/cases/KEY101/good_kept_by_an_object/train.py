"""An object keeps the dict that it is handed, and is told the keys by others."""

import torch
from reporter import Reporter


def train(model, optimizer, batches, metric):
    scaler = torch.amp.GradScaler("cuda")
    reporter = Reporter()
    seen = {}
    with reporter.scope(seen):
        for batch in batches:
            optimizer.zero_grad()
            with torch.autocast("cuda"):
                loss = model(batch)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        metric(reporter)
    return seen["train/accuracy"]
