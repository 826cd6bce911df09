"""The region ends before the backward; it is switched off; it is another library's; it is a test's backward of none."""

import torch
import transformer_engine.pytorch as te


def train(model, criterion, opt, loader, recipe):
    for x, y in loader:
        opt.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16), te.fp8_autocast(enabled=True, fp8_recipe=recipe):
            cost = criterion(model(x), y)
        cost.backward()
        opt.step()


def off(model, criterion, x, y):
    with te.fp8_autocast(enabled=False):
        criterion(model(x), y).backward()


class Trainer:
    def __init__(self, net):
        self.net = net

    def forward(self, x):
        with te.autocast(enabled=True):
            return self.net(x)

    def step(self, x):
        self.forward(x).sum().backward()


def weights(config):
    with te.fp8_model_init(enabled=True):
        layer = te.Linear(config.width, config.width)
        layer(torch.ones(1, config.width)).sum().backward()
    return layer


def nested(model, x):
    with te.fp8_autocast(enabled=True):
        out = model(x)
        with te.fp8_autocast(enabled=False):
            out.sum().backward()
