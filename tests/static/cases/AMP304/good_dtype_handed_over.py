"""What is handed over may be float16, or is not known for every call."""

import os
from dataclasses import dataclass

import torch


def epoch(model, loader, optimizer, scaler, loss_fn, amp_dtype=None):
    for inputs, targets in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=amp_dtype):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def left_out_once(model, loader, optimizer, loss_fn):
    scaler = torch.amp.GradScaler("cuda")
    epoch(model, loader, optimizer, scaler, loss_fn)
    epoch(model, loader, optimizer, scaler, loss_fn, torch.bfloat16)


def epoch_in(model, loader, optimizer, scaler, loss_fn, amp_dtype):
    for inputs, targets in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=amp_dtype):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def by_the_environment(model, loader, optimizer, loss_fn):
    scaler = torch.amp.GradScaler("cuda")
    epoch_in(model, loader, optimizer, scaler, loss_fn, getattr(torch, os.environ["DTYPE"]))


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


def by_record(model, loader, optimizer, loss_fn, name):
    scaler = torch.amp.GradScaler("cuda")
    policies = {"half": Policy(torch.float16), "none": Policy(torch.float32)}
    epoch_by(policies[name], model, loader, optimizer, scaler, loss_fn)
