"""Windows that never reach update()."""

import torch
from torch.amp import GradScaler


def forgotten(model, optimizer, scaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)  # expect: AMP209


def after_the_loop(model, optimizer, batches):
    scaler = GradScaler("cuda")
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)  # expect: AMP209
    scaler.update()


class Trainer:
    def __init__(self, model, optimizer):
        self.model = model
        self.optimizer = optimizer
        self.scaler = GradScaler("cuda")

    def train_step(self, batch):
        self.optimizer.zero_grad()
        self.scaler.scale(self.model(batch)).backward()
        self.scaler.step(self.optimizer)  # expect: AMP209

    def fit(self, batches):
        for batch in batches:
            self.train_step(batch)


def another_scaler_updated(model, optimizer, batches):
    scaler, spare = GradScaler("cuda"), torch.optim.lr_scheduler.StepLR(optimizer, 1)
    while True:
        optimizer.zero_grad()
        scaler.scale(model(next(batches))).backward()
        scaler.step(optimizer)  # expect: AMP209
        spare.step()


def asks_whether_it_was_skipped(model, optimizer, scaler, batches, lowest):
    for batch in batches:
        scaler.scale(model(batch)).backward()
        scaler.unscale_(optimizer)
        before = scaler.get_scale()
        scaler.step(optimizer)  # expect: AMP209
        optimizer.zero_grad()
        skipped = scaler.get_scale() < before
        if skipped and scaler.get_scale() < lowest:
            raise ArithmeticError("the scale has collapsed")
