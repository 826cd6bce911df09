"""No closure, or a scaler that knows what to do with one."""

import torch


class ClosureScaler(torch.amp.GradScaler):
    def step(self, optimizer, closure=None):
        closure()
        return super().step(optimizer)


def own_scaler(model, optimizer, batch):
    scaler = ClosureScaler("cuda")

    def closure():
        loss = model(batch)
        scaler.scale(loss).backward()
        return loss

    scaler.step(optimizer, closure=closure)
    scaler.update()


class Precision:
    def __init__(self):
        self.scaler = torch.amp.GradScaler("cuda")

    def step(self, optimizer, closure=None):
        if closure is not None:
            raise ValueError("no closures with a scaler")
        self.scaler.step(optimizer, closure=None)
        self.scaler.update()


def without_the_scaler(model, optimizer, scaler, batch, use_amp):
    def closure():
        optimizer.zero_grad()
        loss = model(batch)
        loss.backward()
        return loss

    if use_amp:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()
    else:
        optimizer.step(closure)
