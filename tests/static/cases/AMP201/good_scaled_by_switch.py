"""A scaler that a switch turns on scales, unscales and steps under the same switch."""

import torch
from torch.nn.utils import clip_grad_norm_


def back(loss):
    loss.backward()


def train(model, optimizer, loader, use_amp):
    scaler = torch.amp.GradScaler("cuda", enabled=use_amp)
    for batch in loader:
        optimizer.zero_grad()
        back(scaler.scale(model(batch)))
        scaler.unscale_(optimizer)
        clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
