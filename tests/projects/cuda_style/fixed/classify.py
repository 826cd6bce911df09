"""Trains a classifier on CUDA: autocast, a scaler, clipped gradients, and events around the epoch."""

import torch
import torch.nn.functional as F
from torch.cuda.amp import GradScaler, autocast

from data import CLASSES, FEATURES


def build():
    torch.cuda.manual_seed_all(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(FEATURES, 32), torch.nn.LayerNorm(32), torch.nn.ReLU(), torch.nn.Linear(32, CLASSES)
    )
    return model.cuda()


def train(model, batches, epochs=2, max_norm=1.0):
    """Trains for `epochs`; returns the scaler and the milliseconds that the last epoch took."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    scaler = GradScaler(init_scale=2.0**12)
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    for _epoch in range(epochs):
        start.record()
        for features, labels in batches:
            features = features.cuda(non_blocking=True)
            labels = labels.cuda(non_blocking=True)
            optimizer.zero_grad(set_to_none=True)
            with autocast():
                loss = F.cross_entropy(model(features), labels)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            scaler.step(optimizer)
            scaler.update()
        end.record()
    return scaler, (start, end)


def milliseconds(start, end):
    """The time between two events; waits for the device."""
    torch.cuda.synchronize()
    return start.elapsed_time(end)
