"""The scaler is switched off in the branch without a region."""

import contextlib

import torch
from torch import nn


class Precision:
    def __init__(self, mixed):
        if mixed:
            self.context = lambda: torch.autocast("cuda", dtype=torch.float16)
            self.scaler = torch.amp.GradScaler("cuda")
        else:
            self.context = contextlib.nullcontext
            self.scaler = torch.amp.GradScaler("cuda", enabled=False)


def train(net, optimizer, batches, mixed):
    precision = Precision(mixed)
    for inputs, targets in batches:
        optimizer.zero_grad()
        with precision.context():
            loss = nn.functional.mse_loss(net(inputs), targets)
        if precision.scaler is not None:
            precision.scaler.scale(loss).backward()
            precision.scaler.step(optimizer)
            precision.scaler.update()
        else:
            loss.backward()
            optimizer.step()
