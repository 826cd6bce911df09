"""The loop that calls it."""

import torch
from tools.norms import common


def train(model, criterion, optimizer, scaler, loader):
    for images, labels in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        norm = common.norm_of(model.parameters())
        scaler.step(optimizer)
        scaler.update()
    return norm
