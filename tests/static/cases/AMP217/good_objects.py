"""Optimizers that do not look like one."""

import torch
from torch.amp import GradScaler


class Lookahead:
    def __init__(self, base):
        self.base = base
        self.param_groups = base.param_groups

    def step(self):
        self.base.step()


def the_wrapper_both_times(model, loss):
    scaler = GradScaler("cuda")
    optimizer = Lookahead(torch.optim.SGD(model.parameters(), lr=0.1))
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()


def the_inner_one_both_times(model, loss):
    scaler = GradScaler("cuda")
    inner = torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer = Lookahead(inner)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer.base)
    scaler.step(optimizer.base)
    scaler.update()


def two_of_which_one_is_unscaled(encoder, head, loss):
    scaler = GradScaler("cuda")
    optim_a = torch.optim.SGD(encoder.parameters(), lr=0.1)
    optim_b = torch.optim.SGD(head.parameters(), lr=0.1)
    scaler.scale(loss).backward()
    scaler.unscale_(optim_a)
    torch.nn.utils.clip_grad_norm_(encoder.parameters(), 1.0)
    scaler.step(optim_a)
    scaler.step(optim_b)
    scaler.update()


def from_a_method(trainer, loss):
    scaler = GradScaler("cuda")
    scaler.scale(loss).backward()
    scaler.step(trainer.get_optimizer())
    scaler.update()


def an_attribute(fused, loss):
    scaler = GradScaler("cuda")
    scaler.scale(loss).backward()
    scaler.step(fused.optimizer.optimizer)
    scaler.update()


def one_is_not_clipped(generator, critic, batches, scaler):
    opt_g = torch.optim.Adam(generator.parameters())
    opt_c = torch.optim.Adam(critic.parameters())
    for batch in batches:
        scaler.scale(critic(generator(batch)).mean()).backward()
        scaler.unscale_(opt_c)
        torch.nn.utils.clip_grad_norm_(critic.parameters(), 1.0)
        scaler.step(opt_c)
        scaler.step(opt_g)
        scaler.update()


def unscales_only(optimizer, scaler, parameters):
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(parameters, 1.0)


class Careless:
    def __init__(self, model, optimizer: torch.nn.Module, scaler):
        self.model, self.optimizer, self.scaler = model, optimizer, scaler

    def step(self, loss):
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.scaler.step(self.optimizer)
        self.scaler.update()
