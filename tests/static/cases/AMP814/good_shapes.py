"""Autocast is around, inside or in the model; the model is in bfloat16; all of it is Transformer Engine's; no training."""

import torch
import transformer_engine.pytorch as te
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(64, 64)
        self.mlp = te.LayerNormMLP(64, 256)

    def forward(self, x):
        return self.mlp(self.stem(x))


class OwnRegion(Net):
    def forward(self, x):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            return super().forward(x)


class InBfloat16(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(64, 64, dtype=torch.bfloat16)
        self.out = te.Linear(64, 64, params_dtype=torch.bfloat16)

    def forward(self, x):
        return self.out(self.stem(x))


def inside(criterion, loader):
    net = Net()
    for x, y in loader:
        with te.fp8_autocast(enabled=True):
            with torch.autocast("cuda", dtype=torch.bfloat16):
                cost = criterion(net(x), y)
        cost.backward()


def in_the_model(criterion, loader):
    net = OwnRegion()
    for x, y in loader:
        with te.fp8_autocast(enabled=True):
            cost = criterion(net(x), y)
        cost.backward()


def cast(criterion, loader):
    net = Net().to("cuda", torch.bfloat16)
    for x, y in loader:
        with te.fp8_autocast(enabled=True):
            cost = criterion(net(x), y)
        cost.backward()


def made_so(criterion, loader):
    net = InBfloat16()
    for x, y in loader:
        with te.fp8_autocast(enabled=True):
            cost = criterion(net(x), y)
        cost.backward()


def of_the_engine(criterion, loader):
    net = nn.Sequential(te.Linear(64, 64), nn.GELU(), te.Linear(64, 64))
    for x, y in loader:
        with te.fp8_autocast(enabled=True):
            cost = criterion(net(x), y)
        cost.backward()


def not_trained(x):
    net = Net()
    with torch.no_grad(), te.fp8_autocast(enabled=True):
        return net(x)


def handed_in(net, criterion, loader):
    for x, y in loader:
        with te.fp8_autocast(enabled=True):
            cost = criterion(net(x), y)
        cost.backward()
