"""A decorator of the project has autocast off in what it decorates, and casts what that is given."""

import functools

import torch
from torch.nn import functional


def in_float32(*names):
    def decorate(method):
        @functools.wraps(method)
        def wrapped(self, *given):
            with torch.autocast("cuda", enabled=False):
                return method(self, *(each.float() for each in given))

        return wrapped

    return decorate


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)

    def forward(self, inputs, targets):
        return self.loss(self.layer(inputs), targets)

    @in_float32("scores")
    def loss(self, scores, targets):
        return functional.binary_cross_entropy(scores.sigmoid(), targets)


def train(optimizer, loader):
    model = Model()
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = model(inputs, targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
