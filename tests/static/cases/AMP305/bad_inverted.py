"""The scaler is on for the other dtype."""

import torch


def train(model, optimizer, batches, config):
    types = {"float16": torch.float16, "bfloat16": torch.bfloat16}
    scaler = torch.amp.GradScaler("cuda", enabled=config.dtype == "bfloat16")  # expect: AMP305 likely
    for batch in batches:
        with torch.autocast("cuda", dtype=types[config.dtype]):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
