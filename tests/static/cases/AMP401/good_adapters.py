"""The layers that the parameters take their dtype from are float32."""

import torch
from torch import nn


class LowRank(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

        self.first = nn.Parameter(torch.zeros(2, inner.in_features, dtype=torch.float32))
        self.second = nn.Parameter(torch.zeros(2, 4, dtype=next(inner.parameters()).dtype))
        self.frozen = nn.Parameter(torch.zeros(2, dtype=inner.weight.dtype), requires_grad=False)

    def forward(self, x):
        return self.inner(x) + (x @ self.first.t()) @ self.second


def train(batches):
    backbone = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    backbone.requires_grad_(False)
    layers = nn.ModuleList([LowRank(backbone[0]), LowRank(backbone[1])])
    optimizer = torch.optim.SGD([each for each in layers.parameters() if each.requires_grad], lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for batch in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = layers[1](layers[0](batch)).float().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
