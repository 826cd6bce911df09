"""The dtype comes from the one who calls: as an argument, by a constructor, in a record."""

from dataclasses import dataclass

import torch


def epoch(model, loader, optimizer, scaler, loss_fn, amp_dtype):
    for inputs, targets in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=amp_dtype):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def by_argument(model, loader, optimizer, loss_fn):
    scaler = torch.amp.GradScaler("cuda")  # expect: AMP304
    for _ in range(3):
        epoch(model, loader, optimizer, scaler, loss_fn, torch.bfloat16)


class Trainer:
    def __init__(self, model, optimizer, dtype):
        self.model, self.optimizer, self.dtype = model, optimizer, dtype
        self.scaler = torch.amp.GradScaler("cuda")  # expect: AMP304

    def train(self, loader, loss_fn):
        for inputs, targets in loader:
            self.optimizer.zero_grad()
            with torch.autocast("cuda", dtype=self.dtype):
                loss = loss_fn(self.model(inputs), targets)
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()


def by_constructor(model, loader, optimizer, loss_fn):
    Trainer(model, optimizer, torch.bfloat16).train(loader, loss_fn)


@dataclass
class Policy:
    dtype: torch.dtype

    def region(self):
        return torch.autocast("cuda", dtype=self.dtype)


def epoch_by(policy: Policy, model, loader, optimizer, scaler, loss_fn):
    for inputs, targets in loader:
        optimizer.zero_grad()
        with policy.region():
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def by_record(model, loader, optimizer, loss_fn):
    scaler = torch.amp.GradScaler("cuda")  # expect: AMP304
    policy = Policy(torch.bfloat16)
    epoch_by(policy, model, loader, optimizer, scaler, loss_fn)
