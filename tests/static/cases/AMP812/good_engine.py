"""Sizes that fit, sizes that are not known, layers that no float8 region runs, or that one switched off does."""

import torch
import transformer_engine.pytorch as te
from torch import nn


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.first = te.Linear(64, 128)
        self.any = te.Linear(128, classes)
        self.plain = nn.Linear(128, 10)
        self.head = te.Linear(128, 10)

    def forward(self, x):
        x = self.first(x)
        with te.fp8_autocast(enabled=False):
            head = self.head(x)
        return self.any(x), self.plain(x), head


def train(loader, classes):
    net = Net(classes).cuda()
    for x in loader:
        with te.fp8_autocast(enabled=True):
            out, *_ = net(x)
        out.sum().backward()


def half(x):
    net = nn.Sequential(te.Linear(64, 10))
    with torch.autocast("cuda", dtype=torch.bfloat16):
        return net(x)


def off(x):
    net = te.Linear(64, 10)
    with te.fp8_autocast(enabled=False):
        return net(x)


def before_and_outside(x):
    trunk, head = te.Linear(64, 128), te.Linear(128, 10)
    with te.fp8_autocast(enabled=True):
        out = trunk(x)
    return head(out)
