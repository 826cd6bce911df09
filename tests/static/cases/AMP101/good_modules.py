"""Modules that back-propagate, and calls of modules in regions, that do not meet."""

import torch
from torch import nn


class Learner(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, batch):
        return self.net(batch)

    def learn(self, batch, optimizer):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = self(batch).mean()
        loss.backward()
        optimizer.step()

    def adapt(self, batch):
        with torch.autocast("cuda", enabled=False):
            self.net(batch).mean().backward()


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


class Thrice(Twice):
    @staticmethod
    def backward(ctx, gradient):
        return Twice.backward(ctx, gradient) * 1.5


def train(learners, batches, optimizer, accelerator):
    for batch in batches:
        for learner in learners:
            learner.learn(batch, optimizer)
            with torch.autocast("cuda", dtype=torch.bfloat16):
                print(learner(batch).mean().item())
                learner.adapt(batch)
        with accelerator.autocast():
            loss = learners[0](batch).mean()
        with accelerator.accumulate(learners[0]):
            accelerator.backward(loss)
