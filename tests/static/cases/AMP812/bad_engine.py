"""Layers of Transformer Engine of sizes that its regions refuse: in a container, a module, a list of blocks."""

import torch
import transformer_engine.pytorch as te
from torch import nn
from transformer_engine.pytorch import LayerNormMLP, Linear

WIDTH = 50


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.mlp = LayerNormMLP(width, 4 * width)  # expect: AMP812 certain

    def forward(self, x):
        return x + self.mlp(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = te.Linear(64, out_features=WIDTH)  # expect: AMP812 certain
        self.block = Block(WIDTH)
        self.half_fits = Linear(64, 24)  # expect: AMP812 likely

    def forward(self, x):
        return self.block(self.first(x)), self.half_fits(x)


def train(loader, recipe):
    net = Net().cuda()
    for x in loader:
        with te.fp8_autocast(enabled=True, fp8_recipe=recipe):
            out, _ = net(x)
        out.sum().backward()


def by_flag(x, flag):
    net = nn.Sequential(te.Linear(64, 128), nn.GELU(), te.Linear(100, 32))  # expect: AMP812 likely
    with torch.no_grad(), te.autocast(enabled=flag):
        return net(x)
