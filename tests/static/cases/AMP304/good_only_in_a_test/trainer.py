"""Whoever uses it chooses the dtype: a test says nothing of them."""

from dataclasses import dataclass

import torch


class Trainer:
    def __init__(self, model, optimizer, dtype):
        self.model, self.optimizer, self.dtype = model, optimizer, dtype
        self.scaler = torch.amp.GradScaler("cuda")

    def train(self, loader, loss_fn):
        for inputs, targets in loader:
            self.optimizer.zero_grad()
            with torch.autocast("cuda", dtype=self.dtype):
                loss = loss_fn(self.model(inputs), targets)
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()


@dataclass
class Policy:
    dtype: torch.dtype

    def region(self):
        return torch.autocast("cuda", dtype=self.dtype)


def train(policy: Policy, model, loader, optimizer, loss_fn):
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in loader:
        optimizer.zero_grad()
        with policy.region():
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def fit(model, loader, optimizer, loss_fn, amp_dtype):
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=amp_dtype):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
