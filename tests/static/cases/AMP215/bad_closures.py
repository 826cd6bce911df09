"""Closures handed to a scaler."""

import torch
from torch.amp import GradScaler


def by_position(model, batches):
    scaler = GradScaler("cuda")
    optimizer = torch.optim.LBFGS(model.parameters())
    for batch in batches:

        def closure(batch=batch):
            optimizer.zero_grad()
            loss = model(batch)
            scaler.scale(loss).backward()
            return loss

        scaler.step(optimizer, closure)  # expect: AMP215
        scaler.update()


def by_keyword(model, optimizer, batches):
    scaler = GradScaler("cuda")
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer, closure=lambda batch=batch: model(batch))  # expect: AMP215
        scaler.update()


def with_a_scaler_from_elsewhere(model, optimizer, scaler, batch):
    def evaluate():
        return model(batch)

    scaler.scale(evaluate()).backward()
    scaler.step(optimizer, evaluate)  # expect: AMP215 likely
    scaler.update()


class Steps:
    """What it is given it hands on."""

    def __init__(self):
        self.scaler = torch.amp.GradScaler("cuda")

    def step(self, optimizer, closure=None):
        return self.scaler.step(optimizer, closure)  # expect: AMP215 likely
