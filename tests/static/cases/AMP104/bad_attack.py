"""Adversarial weights: the attack changes them in the region of the first loss, and computes the second in it as well."""

import torch
from torch import nn


class Attack:
    def __init__(self, model, rate):
        self.model = model
        self.rate = rate
        self.kept = {}

    def _keep(self):
        self.kept = {name: value.detach().clone() for name, value in self.model.named_parameters()}

    def _disturb(self):
        for name, value in self.model.named_parameters():
            if value.grad is not None and "weight" in name:
                value.data.add_(self.rate * value.grad / value.grad.norm())

    def loss(self, batch):
        self._keep()
        self._disturb()
        return self.model.training_step(batch)

    def restore(self):
        for name, value in self.model.named_parameters():
            value.data = self.kept[name]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def training_step(self, batch):
        return self.layer(batch).pow(2).mean()


def train(batches, optimizer):
    model = Net().cuda()
    attack = Attack(model, 0.1)
    scaler = torch.amp.GradScaler("cuda")
    for batch in batches:
        with torch.autocast("cuda"):
            loss = model.training_step(batch)
            with torch.autocast("cuda", enabled=False):
                scaler.scale(loss).backward()
            second = attack.loss(batch)  # expect: AMP104 likely
        scaler.scale(second).backward()
        attack.restore()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
