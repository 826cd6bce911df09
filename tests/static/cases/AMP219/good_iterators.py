"""Parameters that are still there."""

from itertools import chain

import torch
from torch.nn.utils import clip_grad_norm_


def a_list(model, scaler, batches):
    parameters = list(model.parameters())
    optimizer = torch.optim.SGD(parameters, lr=0.1)
    for batch in batches:
        scaler.scale(model(batch)).backward()
        scaler.unscale_(optimizer)
        clip_grad_norm_(parameters, 1.0)
        scaler.step(optimizer)
        scaler.update()


def anew_each_turn(model, optimizer, batches):
    for batch in batches:
        model(batch).backward()
        parameters = chain(model.encoder.parameters(), model.head.parameters())
        clip_grad_norm_(parameters, 1.0)
        optimizer.step()


def used_once(model, optimizer, loss):
    loss.backward()
    parameters = (p for p in model.parameters() if p.grad is not None)
    clip_grad_norm_(parameters, 1.0)
    optimizer.step()


def one_use_in_each_arm(model, optimizer, loss, by_value):
    parameters = filter(lambda p: p.requires_grad, model.parameters())
    loss.backward()
    if by_value:
        torch.nn.utils.clip_grad_value_(parameters, 1.0)
    else:
        clip_grad_norm_(parameters, 1.0)
    optimizer.step()


class Model(torch.nn.Linear):
    def parameters(self, recurse=True):
        return list(super().parameters(recurse))


def an_own_list(batches):
    model = Model(2, 2)
    parameters = model.parameters()
    optimizer = torch.optim.SGD(parameters, lr=0.1)
    for batch in batches:
        model(batch).sum().backward()
        clip_grad_norm_(parameters, 1.0)
        optimizer.step()


class KeepsAList:
    def __init__(self, encoder, scaler):
        self.scaler = scaler
        self.kept = self.unfrozen(encoder)
        self.optimizer = torch.optim.AdamW(self.kept, lr=1e-5)

    def unfrozen(self, encoder):
        return [p for p in encoder.parameters() if p.requires_grad]

    def step(self, loss):
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        torch.nn.utils.clip_grad_norm_(self.kept, 1.0)
        self.scaler.step(self.optimizer)
        self.scaler.update()
