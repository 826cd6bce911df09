"""Generators that callers hand over, and what comes after the clip that uses them up."""

import torch
from torch.nn.utils import clip_grad_norm_


class Stepper:
    def __init__(self, parameters, scaler, decay):
        self.optimizer = torch.optim.Adam(parameters)
        self.scaler = scaler
        self.decay = decay

    def __call__(self, loss, parameters):
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        clip_grad_norm_(parameters, 1.0)
        if self.decay:
            self.shrink(parameters)  # expect: AMP219
        self.scaler.step(self.optimizer)
        self.scaler.update()

    def shrink(self, weights):
        for weight in weights:
            weight.data *= 1 - self.decay


def train(model, batches, scaler):
    step = Stepper(model.parameters(), scaler, 1e-4)
    for batch in batches:
        step(model(batch).mean(), model.parameters())


def clip_and_count(weights, optimizer):
    count = sum(weight.numel() for weight in weights)
    clip_grad_norm_(weights, 1.0 / count)  # expect: AMP219 likely
    optimizer.step()


def in_two_ways(model, optimizer, by_name):
    model(by_name).backward()
    if by_name:
        clip_and_count(model.parameters(), optimizer)
    else:
        clip_and_count([model.weight], optimizer)
