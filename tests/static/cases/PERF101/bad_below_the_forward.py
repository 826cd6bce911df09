"""A read in a layer, or in a function that a forward calls, waits in each forward of each step."""

import torch
from torch import nn


def spread(values):
    return (values.max() - values.min()).item()  # expect: PERF101 likely


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 8)
        self.seen = 0.0

    def forward(self, values):
        values = self.inner(values)
        self.seen = spread(values)
        return values


class Gate(nn.Module):
    def forward(self, values):
        limit = values.abs().mean().item()  # expect: PERF101 likely
        return values.clamp(max=limit)


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])
        self.tail = nn.Sequential(nn.Linear(8, 8), Gate())

    def forward(self, values):
        for number, block in enumerate(self.blocks):
            values = block(values) * number
        return self.tail(values)


def train(batches, optimizer, scaler):
    network = Network().cuda()
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = (network(inputs) - targets).pow(2).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def shown_by_percent(model, criterion, batches, optimizer, scaler, bar):
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss, parts = model(inputs, targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        bar.set_description("%s" + "%.4f" * 2 % (len(inputs), *parts.values()))  # expect: PERF101
