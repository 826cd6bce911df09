"""Backwards inside a region: in a loop that it covers, in a method, in a function that it calls, by another name."""

import torch
import transformer_engine.pytorch as te
from transformer_engine.pytorch import autocast as low_precision
from transformer_engine.pytorch import fp8_autocast


def whole_loop(model, criterion, opt, loader):
    with fp8_autocast(enabled=True):
        for x, y in loader:
            opt.zero_grad()
            criterion(model(x), y).backward()  # expect: AMP811
            opt.step()


def renamed(model, criterion, opt, loader, recipe):
    for x, y in loader:
        opt.zero_grad()
        with low_precision(recipe=recipe):
            cost = criterion(model(x), y)
            cost.backward()  # expect: AMP811
        opt.step()


class Runner:
    def __init__(self, net, opt, use_fp8):
        self.net = net
        self.opt = opt
        self.use_fp8 = use_fp8

    def differentiate(self, x):
        self.net(x).sum().backward()  # expect: AMP811 likely

    def iterate(self, x):
        with te.fp8_autocast(enabled=self.use_fp8):
            self.differentiate(x)
        self.opt.step()


@te.fp8_autocast(enabled=True)
def decorated(model, x):
    model(x).sum().backward()  # expect: AMP811
