"""An optimizer's state that is written and that nothing reads."""

import torch
from torch.cuda.amp import GradScaler


def train(model, optimizer, batches, folder):
    scaler = GradScaler()
    for batch in batches:
        with torch.autocast("cuda"):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    torch.save(optimizer.state_dict(), folder / "optimizer.pt")
