"""The scaler is off where a setting asks for AMP, and the region is on there: each asks by a name of its own."""

import torch


class Trainer:
    def __init__(self, model, optimizer, cfg):
        self.cfg = cfg
        self.build(model, optimizer)

    def build(self, model, optimizer):
        cfg = self.cfg
        self.model, self.optimizer = model, optimizer
        self.scaler = torch.amp.GradScaler("cuda", enabled=False) if cfg.PREC == "amp" else None  # expect: AMP303 likely

    def step(self, inputs, targets, loss_fn):
        prec = self.cfg.PREC
        self.optimizer.zero_grad()
        if prec == "amp":
            with torch.autocast("cuda", dtype=torch.float16):
                loss = loss_fn(self.model(inputs), targets)
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
        else:
            loss = loss_fn(self.model(inputs), targets)
            loss.backward()
            self.optimizer.step()


def made(mixed):
    return torch.amp.GradScaler("cuda", enabled=False) if mixed else None  # expect: AMP303 likely


def switched_by_the_same(model, optimizer, loader, loss_fn, half, mixed):
    scaler = made(mixed)
    dtype = torch.float16 if half else torch.bfloat16
    for inputs, targets in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=dtype, enabled=mixed):
            loss = loss_fn(model(inputs), targets)
        if mixed:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        else:
            loss.backward()
            optimizer.step()
