"""The attack in a region of its own, one before any loss of the region, and one that computes no loss in it."""

import torch
from torch import nn


class Attack:
    def __init__(self, model, rate):
        self.model = model
        self.rate = rate

    def disturb(self):
        for name, value in self.model.named_parameters():
            if value.grad is not None and "weight" in name:
                value.data.add_(self.rate * value.grad / value.grad.norm())

    def loss(self, batch):
        self.disturb()
        return self.model.training_step(batch)

    def after(self, batch):
        loss = self.model.training_step(batch)
        self.disturb()
        return loss


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1)
        self.seen = 0

    def training_step(self, batch):
        return self.layer(batch).pow(2).mean()

    def count(self, seen):
        self.seen += seen


def train(batches, optimizer):
    model = Net().cuda()
    attack = Attack(model, 0.1)
    scaler = torch.amp.GradScaler("cuda")
    for batch in batches:
        with torch.autocast("cuda"):
            loss = model.training_step(batch)
        scaler.scale(loss).backward()
        with torch.autocast("cuda"):
            model.count(len(batch))
            weight = model.get_parameter("layer.weight")
            second = attack.loss(batch) + weight.abs().mean()
        scaler.scale(second).backward()
        with torch.autocast("cuda"):
            first = model.training_step(batch)
            third = attack.after(batch) + first
        scaler.scale(third).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
