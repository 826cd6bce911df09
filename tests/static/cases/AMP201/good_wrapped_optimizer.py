"""As the bad one, with `unscale_` first; and an optimizer that holds two, of which one is clipped after it."""

import torch
from torch import nn
from torch.amp import GradScaler


class ScheduledOptimizer:
    def __init__(self):
        self.optimizer = None

    @property
    def param_groups(self):
        return self.optimizer.param_groups

    def zero_grad(self):
        self.optimizer.zero_grad(set_to_none=True)

    def step(self, closure=None, where=None):
        if closure is None:
            self.optimizer.step()
        else:
            self.optimizer.step(closure)


class Task:
    def __init__(self, model):
        self.model = model
        self.scaler = GradScaler("cuda")

    def set_optimizer(self, optimizer: ScheduledOptimizer):
        self.optimizer = optimizer

    def run_optimizer(self, loss, position):
        due = self.is_due()
        self.optimizer.zero_grad()
        if self.mixed:
            self.scaler.scale(loss).backward()
        else:
            loss.backward()
        if due:
            if self.mixed:
                self.scaler.unscale_(self.optimizer)
            self.clip(self.limit)
            if self.mixed:
                self.scaler.step(self.optimizer, where=position)
                self.scaler.update()
            else:
                self.optimizer.step(where=position)

    def clip(self, limit):
        nn.utils.clip_grad_norm_(self.model.parameters(), limit)


class Pair:
    def __init__(self, encoder, head):
        self.first = torch.optim.SGD(encoder.parameters(), lr=0.1)
        self.second = torch.optim.AdamW(head.parameters(), lr=0.1)

    def zero_grad(self):
        self.first.zero_grad(set_to_none=True)
        self.second.zero_grad(set_to_none=True)


def train(encoder, head, batches, loss_fn):
    pair = Pair(encoder, head)
    scaler = GradScaler("cuda")
    for inputs, targets in batches:
        pair.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(head(encoder(inputs)), targets)
        scaler.scale(loss).backward()
        scaler.unscale_(pair.first)
        nn.utils.clip_grad_norm_(encoder.parameters(), 1.0)
        scaler.step(pair.first)
        scaler.step(pair.second)
        scaler.update()
