from contextlib import nullcontext

import torch


class Full:
    """Never runs beside the scaler of the other: an object has one class."""

    def region(self):
        return nullcontext()

    def backward(self, loss):
        loss.backward()

    def step(self, optimizer):
        optimizer.step()


class Mixed:
    def __init__(self):
        self.scaler = torch.amp.GradScaler("cuda")

    def region(self):
        return torch.autocast("cuda", dtype=torch.float16)

    def backward(self, loss):
        self.scaler.scale(loss).backward()

    def step(self, optimizer):
        self.scaler.step(optimizer)
        self.scaler.update()


PRECISIONS = {"32": Full, "16-mixed": Mixed}


def train(model, optimizer, loss_fn, batches, name):
    precision = PRECISIONS[name]()
    for inputs, targets in batches:
        optimizer.zero_grad()
        with precision.region():
            loss = loss_fn(model(inputs), targets)
        precision.backward(loss)
        precision.step(optimizer)
