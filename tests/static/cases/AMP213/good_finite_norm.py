"""The schedule is reached with finite gradients alone: the scaler has skipped nothing there."""

import math

import torch
from torch import nn


def guarded(model, loader, optimizer, scheduler):
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.mse_loss(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        size = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        usable = math.isfinite(size.item())
        if usable:
            scaler.step(optimizer)
            scaler.update()
            scheduler.step()
        else:
            scaler.update()


def by_both(model, loader, optimizer, scheduler):
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.mse_loss(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        size = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if torch.isnan(size) or torch.isinf(size):
            scaler.update()
            continue
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()


class Loop:
    def __init__(self, model, optimizer, scheduler):
        self.model, self.optimizer, self.scheduler = model, optimizer, scheduler
        self.scaler = torch.amp.GradScaler("cuda")

    def clip(self):
        self.scaler.unscale_(self.optimizer)
        return nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)

    def run(self, loader):
        for inputs, targets in loader:
            self.optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = nn.functional.mse_loss(self.model(inputs), targets)
            self.scaler.scale(loss).backward()
            size = self.clip()
            if not size.isfinite():
                self.scaler.update()
                continue
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.scheduler.step()
