"""Reads in a forward that runs in evaluation only, now and then, or never in a loop that trains."""

import torch
from torch import nn


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 8)
        self.calls = 0

    def forward(self, values):
        values = self.inner(values)
        self.calls += 1
        if not self.training:
            self.low = values.min().item()
        if self.calls % 100 == 0:
            print(values.max().item())
        return values


class Unused(nn.Module):
    def forward(self, values):
        return values * values.max().item()


def train(batches, optimizer, scaler):
    head = Head().cuda()
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = (head(inputs) - targets).pow(2).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def export(inputs):
    return Unused()(inputs)
