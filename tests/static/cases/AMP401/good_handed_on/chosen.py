"""The model is cast for another purpose than the one that its optimizer is built for."""

import torch
from torch import nn


def optimizer_for(model, purpose):
    if purpose == "measure":
        model.half()
        return None
    return torch.optim.Adam(model.parameters())


def main(batches, purpose):
    model = nn.Linear(8, 8)
    optimizer = optimizer_for(model, purpose)
    if optimizer is None:
        return
    epoch(model, optimizer, torch.amp.GradScaler("cuda"), batches)


def epoch(model, optimizer, scaler, batches):
    for batch in batches:
        with torch.autocast("cuda"):
            loss = model(batch).mean()
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
