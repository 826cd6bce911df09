"""One of the optimizers that may be made scales by itself, by a class of the project's own that says so below."""

import torch


class LossScale:
    def __init__(self):
        self.loss_scale = 2.0**15

    def scale(self, loss):
        return loss * self.loss_scale


class Half:
    def backward(self, loss):
        if self.scaler is not None:
            loss = self.scaler.scale(loss)
        loss.backward()

    def clip_grad_norm(self, limit):
        return self.optimizer.clip_grad_norm(0)

    def step(self):
        self.optimizer.step(scale=1.0 / self.scaler.loss_scale)


class HalfOptimizer(Half):
    def __init__(self, optimizer):
        self.optimizer = optimizer
        self.scaler = LossScale()


class Fused(torch.optim.SGD):
    pass


def build(model, half):
    if half:
        optimizer = HalfOptimizer(torch.optim.SGD(model.parameters(), lr=0.1))
    else:
        optimizer = Fused(model.parameters(), lr=0.1)
    return optimizer


def train(model, batches, half):
    scaler = torch.amp.GradScaler("cuda", enabled=False)
    optimizer = build(model, half)
    for batch in batches:
        optimizer.zero_grad()
        loss = model(batch)
        if half:
            optimizer.backward(loss)
        else:
            scaler.scale(loss).backward()
        if half:
            optimizer.clip_grad_norm(1.0)
        scaler.step(optimizer)
        scaler.update()
