"""The function that steps is given the batch first; the schedule advances once an epoch."""

import torch
from torch.amp import GradScaler


def train(x, y, model, optimizer, scaler):
    with torch.autocast("cuda"):
        loss = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()


def main(model, loader, optimizer, epochs):
    scaler = GradScaler("cuda")
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.99**epoch)
    for _ in range(epochs):
        for x, y in loader:
            train(x, y, model, optimizer, scaler)
        scheduler.step()
