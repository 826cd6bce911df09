"""Reads in what a method gives back, in either arm, and in what stands for a method of the class that loops."""

import torch
from torch.amp import GradScaler, autocast


def as_number(value):
    if torch.is_tensor(value):
        return value.item()  # expect: PERF101 likely
    return value


class Loop:
    def __init__(self, model, loss_fn, optimizer):
        self.model, self.loss_fn, self.optimizer = model, loss_fn, optimizer
        self.scaler = GradScaler("cuda")

    def run(self, loader):
        for batch in loader:
            self.turn(batch)

    def turn(self, batch):
        self.optimizer.zero_grad()
        with autocast("cuda"):
            parts = self.losses(batch, described=True)
        self.scaler.scale(parts["total"]).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return {name: as_number(value) for name, value in parts.items()}

    def losses(self, batch, described):
        loss = self.loss_fn(self.model(batch))
        if described:
            shown = loss.mean().item()  # expect: PERF101 likely
            return {"total": loss, "shown": shown}
        else:
            return {"total": loss}


class Careful(Loop):
    def turn(self, batch):
        self.optimizer.zero_grad()
        with autocast("cuda"):
            loss = self.loss_fn(self.model(batch))
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss.detach().cpu()  # expect: PERF101 likely
