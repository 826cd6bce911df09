"""Schedules that count steps which the scaler may skip."""

import torch
from torch.amp import GradScaler
from torch.optim.lr_scheduler import OneCycleLR


def after_the_update(model, optimizer, scaler, batches, scheduler):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()  # expect: AMP213 likely


def before_the_step(model, batches):
    scaler = GradScaler("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    cycle = OneCycleLR(optimizer, 0.1, total_steps=1000)
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        cycle.step()  # expect: AMP213
        scaler.step(optimizer)
        scaler.update()


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.lr_scheduler = OneCycleLR(self.optimizer, 0.1, total_steps=1000)
        self.scaler = GradScaler("cuda")

    def train_step(self, batch):
        self.optimizer.zero_grad()
        self.scaler.scale(self.model(batch)).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.lr_scheduler.step()  # expect: AMP213 likely
