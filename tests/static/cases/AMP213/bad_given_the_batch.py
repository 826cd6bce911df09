"""The function that steps is given the batch first: the loop over the batches is still the one that turns."""

import torch
from torch.amp import GradScaler


def train(x, y, model, optimizer, scaler):
    with torch.autocast("cuda"):
        loss = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()


def main(model, loader, optimizer):
    scaler = GradScaler("cuda")
    schedulers = [torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.99**step)]
    while True:
        for x, y in loader:
            train(x, y, model, optimizer, scaler)
            for scheduler in schedulers:
                scheduler.step()  # expect: AMP213 likely
