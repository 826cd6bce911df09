"""Heads that are sequences of modules: the last layer decides, and what only keeps the dtype may stand behind it."""

import torch
from torch import nn


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.projector = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 8))
        self.head = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.1), nn.SiLU())

    @torch.autocast("cuda", dtype=torch.float16)
    def forward(self, inputs):
        projected = self.projector(inputs)
        scaled = projected / (projected.std(0) + 1e-9)  # expect: AMP402
        heads = self.head(inputs)
        return scaled, heads / (heads.std(0) + 1e-9)  # expect: AMP402


def decorrelated(first):
    return (first - first.mean(0)) / (first.std(0) + 1e-9)  # expect: AMP402 likely


def train(optimizer, scaler, batches):
    network = Network().cuda()
    for batch in batches:
        with torch.autocast("cuda"):
            projected = network.projector(batch)
            loss = decorrelated(projected).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
