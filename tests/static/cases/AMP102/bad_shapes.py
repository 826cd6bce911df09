"""Steps that run while a region is active: directly, through a helper, in a method, under a decorator."""

import functools

import torch
from torch.amp import GradScaler
from torch.amp import autocast as mixed


def everything_in_the_region(model, loss_fn, optimizer, scaler, batches):
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = loss_fn(model(inputs), targets)
            scaler.scale(loss).backward()
            scaler.step(optimizer)  # expect: AMP102
        scaler.update()


def bfloat16_without_scaler(model, loss_fn, optim, batches):
    context = torch.autocast("cuda", dtype=torch.bfloat16)
    for inputs, targets in batches:
        with context:
            loss = loss_fn(model(inputs), targets)
            loss.backward()
            optim.step()  # expect: AMP102
            optim.zero_grad()


def through_a_helper(model, loss_fn, optimizer, batches, scaler: GradScaler):
    region = functools.partial(mixed, "cuda", dtype=torch.float16)
    for inputs, targets in batches:
        with region():
            loss = loss_fn(model(inputs), targets)
            finish(loss, optimizer, scaler)


def finish(loss, optimizer, scaler):
    scaler.scale(loss).backward()
    scaler.step(optimizer)  # expect: AMP102
    scaler.update()
    optimizer.zero_grad()


class Trainer:
    def __init__(self, model, loss_fn, amp):
        self.model = model
        self.loss_fn = loss_fn
        self.amp = amp
        self.optimizer = torch.optim.AdamW(model.parameters())
        self.grad_scaler = torch.amp.GradScaler("cuda", enabled=amp)

    @torch.autocast("cuda")
    def decorated(self, inputs, targets):
        loss = self.loss_fn(self.model(inputs), targets)
        self.grad_scaler.scale(loss).backward()
        self.grad_scaler.step(self.optimizer)  # expect: AMP102
        self.grad_scaler.update()
