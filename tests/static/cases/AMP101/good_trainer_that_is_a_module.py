"""A trainer that is a module: it runs its model in a region, and the backward after it."""

import torch


class Trainer(torch.nn.Module):
    def __init__(self, model, accelerator):
        super().__init__()
        self.model, self.accelerator = model, accelerator

    def forward(self, batches):
        total = 0.0
        for batch in batches:
            with self.accelerator.autocast():
                loss = self.model(batch)
            total += loss.item()
            if self.training:
                self.accelerator.backward(loss)
        return total


class Scaled(torch.nn.Module):
    def __init__(self, model, scaler):
        super().__init__()
        self.model, self.scaler = model, scaler

    def forward(self, batch):
        with torch.autocast("cuda"):
            loss = self.model(batch)
        self.scaler.scale(loss).backward()
        return loss.detach()
