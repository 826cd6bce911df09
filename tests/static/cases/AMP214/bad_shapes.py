"""Hand-written checks that skip the step and forget the scaler."""

import math

import torch


def leaves_by_continue(model, optimizer, scaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.unscale_(optimizer)
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if not torch.isfinite(norm):  # expect: AMP214
            continue
        scaler.step(optimizer)
        scaler.update()


def zeroes_and_leaves(model, optimizer, scaler, batches):
    for batch in batches:
        scaler.scale(model(batch)).backward()
        scaler.unscale_(optimizer)
        total = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if math.isnan(total) or math.isinf(total):  # expect: AMP214
            optimizer.zero_grad()
            continue
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.scaler = torch.amp.GradScaler("cuda")

    def apply(self):
        self.scaler.unscale_(self.optimizer)
        if all(torch.isfinite(p.grad).all() for p in self.model.parameters()):  # expect: AMP214
            self.scaler.step(self.optimizer)
            self.scaler.update()
        self.optimizer.zero_grad()

    def fit(self, batches):
        for batch in batches:
            self.scaler.scale(self.model(batch)).backward()
            self.apply()


def by_a_threshold(model, optimizer, scaler, batches, most):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.unscale_(optimizer)
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if norm < most:  # expect: AMP214
            scaler.step(optimizer)
            scaler.update()
