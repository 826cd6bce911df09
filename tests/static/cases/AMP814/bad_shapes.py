"""Float8 regions without autocast, over models of float32 that have products of torch's own."""

import torch
import transformer_engine.pytorch as te
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3)
        self.mlp = te.LayerNormMLP(16, 64)

    def forward(self, x):
        return self.mlp(self.stem(x).flatten(2).transpose(1, 2))


def train(criterion, loader):
    net = Net().to("cuda")
    opt = torch.optim.AdamW(net.parameters())
    for x, y in loader:
        opt.zero_grad()
        with te.autocast(enabled=True):  # expect: AMP814 likely
            cost = criterion(net(x), y)
        cost.backward()
        opt.step()
