"""The scaler steps an optimizer of the project that keeps one of torch's; the float32 arm calls its step itself."""

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
            self.clip(self.limit)
            if self.mixed:
                self.scaler.step(self.optimizer, where=position)
                self.scaler.update()
            else:
                self.optimizer.step(where=position)

    def clip(self, limit):
        nn.utils.clip_grad_norm_(self.model.parameters(), limit)  # expect: AMP201
