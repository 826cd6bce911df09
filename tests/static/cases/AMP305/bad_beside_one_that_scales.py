"""A loop that was left out where the other one of the file got its scaler."""

import torch
from models.lightningdit import build
from torch.amp import GradScaler


def train(loader, loss_fn):
    model = build()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = GradScaler("cuda")
    for inputs, targets in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def tune(loader, loss_fn):
    model = build()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for inputs, targets in loader:
        with torch.autocast("cuda", dtype=torch.float16):  # expect: AMP305 likely
            loss = loss_fn(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
