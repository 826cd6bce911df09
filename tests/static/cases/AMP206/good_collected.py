"""Losses that are scaled under a name, gathered by another method, and derived from there."""

import torch


class Logic:
    def __init__(self, scaler):
        self.scaler = scaler

    def derive(self, outputs):
        found = set()
        for _, each in outputs.items():
            if each.grad_fn is not None:
                found.add(each)
        for each in found:
            each.backward()

    def forward(self, model, optimizer, batch):
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            outputs = model(batch)
        if self.scaler is not None:
            outputs = {key: self.scaler.scale(each) for key, each in outputs.items()}
        self.derive(outputs)

    def step(self, optimizer):
        if self.scaler is not None:
            self.scaler.step(optimizer)
            self.scaler.update()
        else:
            optimizer.step()


def train(model, optimizer, batches):
    logic = Logic(torch.amp.GradScaler("cuda"))
    for batch in batches:
        logic.forward(model, optimizer, batch)
        logic.step(optimizer)
