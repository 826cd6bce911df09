"""One branch zeroes, the other one only steps."""

import torch
from torch.amp import GradScaler


def train(model, loader, optimizer, use_amp):
    scaler = GradScaler("cuda")
    for x, y in loader:
        if use_amp:
            optimizer.zero_grad()
            with torch.autocast("cuda"):
                loss = torch.nn.functional.cross_entropy(model(x), y)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        else:
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()  # expect: AMP212
            optimizer.step()


def train_zeroed_at_first(model, loader, optimizer, scaler):
    optimizer.zero_grad()
    for x, y in loader:
        with torch.autocast("cuda", enabled=scaler is not None):
            loss = torch.nn.functional.cross_entropy(model(x), y)
        if scaler is not None:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
        else:
            loss.backward()  # expect: AMP212
            optimizer.step()
