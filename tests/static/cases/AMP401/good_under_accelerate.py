"""The weights stay float32 under accelerate's fp16."""

import torch
from accelerate import Accelerator
from torch import nn


def network():
    return nn.Sequential(nn.Linear(4, 4), nn.ReLU())


class Trainer:
    def __init__(self, loader):
        self.accelerator = Accelerator(mixed_precision="fp16", gradient_accumulation_steps=2)
        model = network()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.model, self.optimizer, self.loader = self.accelerator.prepare(model, optimizer, loader)

    def fit(self):
        for batch in self.loader:
            self.accelerator.backward(self.model(batch).mean())
            self.optimizer.step()
            self.optimizer.zero_grad()
