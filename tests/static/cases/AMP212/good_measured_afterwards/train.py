"""Once training is over, the model is measured."""

import torch
from analysis import measure
from torch.amp import GradScaler


def train(model, loader, optimizer, scaler=None):
    for x, y in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", enabled=scaler is not None):
            loss = torch.nn.functional.cross_entropy(model(x), y)
        if scaler is not None:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        else:
            loss.backward()
            optimizer.step()


def main(model, loader, device, use_amp, epochs):
    optimizer = torch.optim.Adam(model.parameters())
    scaler = None
    if use_amp and device.startswith("cuda"):
        scaler = GradScaler("cuda")
    for _ in range(epochs):
        train(model, loader, optimizer, scaler)
    return measure(model, loader)
