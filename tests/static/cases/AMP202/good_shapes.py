"""Each optimizer is unscaled once per window, though the call stands more than once."""

import torch
from torch.amp import GradScaler


def in_either_arm(model, optimizer, scaler, loss, args):
    scaler.scale(loss).backward()
    if args.max_norm is not None:
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), args.max_norm)
    else:
        scaler.unscale_(optimizer)
        measure(model.parameters())
    scaler.step(optimizer)
    scaler.update()


def measure(parameters):
    return torch.stack([p.grad.norm() for p in parameters]).norm()


def each_of_a_collection(optimizers, scaler, batches, model):
    for batch in batches:
        scaler.scale(model(batch)).backward()
        for optimizer in optimizers:
            scaler.unscale_(optimizer)
        for optimizer in optimizers:
            scaler.step(optimizer)
        scaler.update()
        for optimizer in optimizers:
            optimizer.zero_grad()


def each_of_a_dict(optimizers, scaler, loss):
    scaler.scale(loss).backward()
    for name, optimizer in optimizers.items():
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_([p for group in optimizer.param_groups for p in group["params"]], 1.0)
    for name, optimizer in optimizers.items():
        scaler.step(optimizer)
    scaler.update()


def two_networks(net_d, net_g, optim_d, optim_g, scaler, loss_d, loss_g):
    for optimizer, loss in ((optim_d, loss_d), (optim_g, loss_g)):
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
    scaler.update()


class Trainer:
    """Asks the scaler whether it has unscaled already."""

    def __init__(self, model, max_value, max_norm):
        self.model, self.max_value, self.max_norm = model, max_value, max_norm
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.scaler = GradScaler("cuda")

    def clip_values(self):
        state = self.scaler._per_optimizer_states[id(self.optimizer)]
        if state["stage"] is not torch.amp.grad_scaler.OptState.UNSCALED:
            self.scaler.unscale_(self.optimizer)
        torch.nn.utils.clip_grad_value_(self.model.parameters(), self.max_value)

    def train_step(self, batch):
        self.optimizer.zero_grad()
        self.scaler.scale(self.model(batch)).backward()
        if self.max_norm:
            self.scaler.unscale_(self.optimizer)
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)
        self.clip_values()
        self.scaler.step(self.optimizer)
        self.scaler.update()


class ByTwoNames:
    def __init__(self, model):
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.scaler = GradScaler("cuda")
        self.amp = {"scaler": self.scaler}

    def step(self, loss, parameters):
        own = self.scaler
        own.scale(loss).backward()
        own.unscale_(self.optimizer)
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        self.scaler.step(self.optimizer)
        self.scaler.update()


def of_whatever_make(optimizers, scaler: GradScaler, norms):
    for name, optimizer in optimizers.items():
        if norms[name] is not None:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(optimizer.param_groups[0]["params"], norms[name])
        scaler.step(optimizer)
    scaler.update()


def held_by_a_library(helper, generator, optimizer, batches, loss_fn):
    """What holds the scaler steps and updates by itself."""
    for batch in batches:
        optimizer.zero_grad()
        with helper.autocast():
            loss = loss_fn(generator(batch), batch)
        helper.backward(loss)
        helper.scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(generator.parameters(), 1.0)
        helper.step(optimizer)
        helper.update()
