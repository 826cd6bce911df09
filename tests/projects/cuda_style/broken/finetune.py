"""Trains the last layer of a frozen network."""

import torch
import torch.nn.functional as F
from torch.cuda.amp import GradScaler, autocast

from data import CLASSES, FEATURES


def train(batches, epochs=2, max_norm=1.0):
    """Returns the scaler and the layer."""
    frozen = torch.nn.Linear(FEATURES, 16).cuda().requires_grad_(False)
    layer = torch.nn.Linear(16, CLASSES).cuda()
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    scaler = GradScaler(init_scale=2.0**12)
    for _epoch in range(epochs):
        for features, labels in batches:
            features = features.cuda(non_blocking=True)
            labels = labels.cuda(non_blocking=True)
            optimizer.zero_grad(set_to_none=True)
            with autocast():
                loss = F.cross_entropy(layer(frozen(features)), labels)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(layer.parameters(), max_norm)
            optimizer.step()
            scaler.update()
    return scaler, layer
