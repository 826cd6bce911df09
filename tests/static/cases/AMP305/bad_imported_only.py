import torch
from torch.amp import GradScaler, autocast


def train(model, batches, optimizer):
    for batch in batches:
        optimizer.zero_grad()
        with autocast("cuda", torch.float16):  # expect: AMP305
            loss = model(batch).mean()
        loss.backward()
        optimizer.step()
