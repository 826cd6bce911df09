"""Iterators that a sum, a search, a loop or a list has gone through before the clip."""

import itertools

import torch
from torch.nn.utils import clip_grad_norm_, clip_grad_value_


def counted(model, scaler, optimizer, loss):
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    weights = iter([p for p in model.parameters() if p.requires_grad])
    live = sum(w.grad is not None for w in weights)
    clip_grad_norm_(weights, 1.0 / live)  # expect: AMP219
    scaler.step(optimizer)
    scaler.update()


def searched(encoder, head, optimizer, loss):
    loss.backward()
    both = itertools.chain(encoder.parameters(), head.parameters())
    if any(p.grad is None for p in both):
        print("a tensor without a gradient")
    clip_grad_norm_(both, 1.0)  # expect: AMP219 likely
    optimizer.step()


def asked_of_all(model, optimizer, loss):
    loss.backward()
    weights = map(lambda pair: pair[1], model.named_parameters())
    print(all(map(lambda p: p.grad is not None, weights)))
    clip_grad_norm_(weights, 1.0)  # expect: AMP219 likely
    optimizer.step()


def trained(model):
    for weight in model.parameters():
        if weight.requires_grad:
            yield weight


class Unit:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer

    def step(self, loss):
        loss.backward()
        weights = trained(self.model)
        norms = torch.stack([w.grad.norm() for w in weights])
        clip_grad_value_(filter(lambda w: w.requires_grad, weights), 1.0)  # expect: AMP219
        self.optimizer.step()
        return norms

    def bound_twice(self, loss):
        loss.backward()
        weights = list(self.model.parameters())
        weights = (w for w in weights if w.grad is not None)
        for w in weights:
            w.grad.nan_to_num_()
        clip_grad_norm_(weights, 1.0)  # expect: AMP219
        self.optimizer.step()
