"""Meters that take the number, or turn autograd off, and one that is given it."""

import torch


class Careful:
    def __init__(self):
        self.total = 0.0

    def update(self, value):
        if isinstance(value, torch.Tensor):
            value = value.item()
        self.total += value


class Quiet:
    def __init__(self):
        self.total = 0.0

    def update(self, value):
        with torch.no_grad():
            self.total += value

    @torch.no_grad()
    def push(self, value):
        self.total += value


class Plain:
    def __init__(self):
        self.total, self.last = 0.0, None

    def update(self, value):
        self.total += value

    def keep(self, value):
        self.last = value
        self.total += value.detach()


def train(model, criterion, optimizer, scaler, loader):
    careful, quiet, plain = Careful(), Quiet(), Plain()
    for images, labels in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        careful.update(loss)
        quiet.update(loss)
        quiet.push(loss)
        plain.update(loss.detach())
        plain.keep(loss)
    return careful, quiet, plain
