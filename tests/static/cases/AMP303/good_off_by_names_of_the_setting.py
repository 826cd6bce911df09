"""The scaler is off where a setting asks for another precision than the region's."""

import torch


class Trainer:
    def __init__(self, model, optimizer, cfg):
        self.cfg = cfg
        self.build(model, optimizer)

    def build(self, model, optimizer):
        cfg = self.cfg
        self.model, self.optimizer = model, optimizer
        if cfg.PREC == "amp":
            self.scaler = torch.amp.GradScaler("cuda")
        else:
            self.scaler = torch.amp.GradScaler("cuda", enabled=False)

    def step(self, inputs, targets, loss_fn):
        prec = self.cfg.PREC
        self.optimizer.zero_grad()
        if prec == "amp":
            with torch.autocast("cuda", dtype=torch.float16):
                loss = loss_fn(self.model(inputs), targets)
        else:
            loss = loss_fn(self.model(inputs), targets)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
