"""What asks for the type of a scaler asks whether there is one."""

import torch
from torch.amp import GradScaler


def backward(loss, scaler=None):
    if isinstance(scaler, GradScaler):
        loss = scaler.scale(loss)
    loss.backward()


def train(model, loss_fn, batches, use_amp):
    optimizer = torch.optim.Adam(model.parameters())
    scaler = GradScaler("cuda") if use_amp else None
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", enabled=use_amp):
            loss = loss_fn(model(inputs), targets)
        backward(loss, scaler)
        if scaler is not None:
            scaler.step(optimizer)
            scaler.update()
        else:
            optimizer.step()
