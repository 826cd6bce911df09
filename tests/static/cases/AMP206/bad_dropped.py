import torch
from torch import autograd


class Cache:
    """Derives the loss by what it was computed from, and leaves the step to its caller."""

    def __init__(self, loss_fn, scaler=None):
        self.loss_fn = loss_fn
        self.scaler = scaler

    def build(self, left, right):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = self.loss_fn(left, right)
        if self.scaler is not None:
            self.scaler.scale(loss)  # expect: AMP206 likely
        return autograd.grad(loss, [left, right])


def train(model, loss_fn, batches):
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss)  # expect: AMP206
        loss.backward()
