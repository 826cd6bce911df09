"""Gradients unscaled while backwards of the same window are still to come."""

import torch
from torch.amp import GradScaler


def on_every_micro_batch(model, optimizer, scaler, batches, window):
    for i, batch in enumerate(batches):
        scaler.scale(model(batch) / window).backward()
        scaler.unscale_(optimizer)  # expect: AMP203
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if (i + 1) % window == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


def between_two_losses(model, optimizer, scaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.unscale_(optimizer)  # expect: AMP203
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.scale(model.auxiliary(batch)).backward()
        scaler.step(optimizer)
        scaler.update()


def updated_every_time(model, optimizer, scaler, batches, window):
    for i, batch in enumerate(batches):
        scaler.scale(model(batch) / window).backward()
        scaler.unscale_(optimizer)  # expect: AMP203
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if (i + 1) % window == 0:
            scaler.step(optimizer)
            optimizer.zero_grad()
        scaler.update()


class Trainer:
    def __init__(self, model, accumulate, clip):
        self.model, self.accumulate, self.clip = model, accumulate, clip
        self.opt = torch.optim.AdamW(model.parameters())
        self.gscaler = GradScaler("cuda")

    def backward(self, loss):
        scaled = self.gscaler.scale(loss)
        scaled.backward()
        if self.clip > 0:
            self.gscaler.unscale_(self.opt)  # expect: AMP203
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)

    def fit(self, batches):
        for number, batch in enumerate(batches, 1):
            self.backward(self.model(batch) / self.accumulate)
            if number % self.accumulate == 0:
                self.gscaler.step(self.opt)
                self.gscaler.update()
                self.opt.zero_grad(set_to_none=True)
