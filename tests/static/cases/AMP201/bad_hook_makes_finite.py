"""A hook makes numbers of what has overflowed: the scaler steps with them, and never lowers the scale."""

import torch


def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler("cuda")
    for parameter in model.parameters():
        parameter.register_hook(lambda grad: torch.nan_to_num(grad))  # expect: AMP201 likely
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
