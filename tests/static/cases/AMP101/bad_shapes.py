"""Backwards inside an autocast region, in many shapes."""

from contextlib import nullcontext
from functools import partial

import torch
from torch import autocast as cast
from torch.cuda import amp


def indented_too_far(model, optimizer, loss_fn, scaler, inputs, targets):
    with torch.autocast("cuda", dtype=torch.float16):
        loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()  # expect: AMP101
    scaler.step(optimizer)
    scaler.update()


def alias(model, inputs):
    with cast("cuda", torch.bfloat16):
        model(inputs).sum().backward()  # expect: AMP101


def deprecated_name(model, inputs):
    with torch.no_grad(), amp.autocast():
        model(inputs).sum().backward()  # expect: AMP101


half = partial(torch.autocast, "cuda", dtype=torch.float16)


def partly_applied(model, inputs):
    with half():
        loss = model(inputs).sum()
        torch.autograd.backward(loss)  # expect: AMP101


def kept_in_a_variable(model, batches):
    context = torch.amp.autocast("cuda")
    for batch in batches:
        with context:
            model(batch).backward()  # expect: AMP101


def with_a_stand_in(model, batches, use_amp):
    context = torch.autocast("cuda") if use_amp else nullcontext()
    for batch in batches:
        with context:
            loss = model(batch)
            loss.backward()  # expect: AMP101


@torch.autocast("cuda")
def decorated(model, batch):
    model(batch).backward()  # expect: AMP101


class Trainer:
    def __init__(self, model, optimizer):
        self.model = model
        self.optimizer = optimizer
        self.context = torch.autocast("cuda", dtype=torch.bfloat16)

    def step(self, batch):
        with self.context:
            loss = self.model(batch)
            self.backward(loss)
        self.optimizer.step()

    def backward(self, loss):
        loss.backward()  # expect: AMP101
