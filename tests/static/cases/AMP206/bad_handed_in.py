"""Losses that come as an argument: from a call in sight, and from nobody knows where."""

import torch


class Trainer:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.scaler = torch.amp.GradScaler("cuda")

    def learn(self, loss):
        self.optimizer.zero_grad()
        loss.backward()  # expect: AMP206
        self.scaler.step(self.optimizer)
        self.scaler.update()

    def train(self, batches):
        for batch in batches:
            with torch.autocast("cuda"):
                loss = self.model(batch)
            self.learn(loss)


class ForAnyone:
    def __init__(self, optimizer):
        self.optimizer = optimizer
        self.scaler = torch.amp.GradScaler("cuda")

    def descend(self, loss):
        self.optimizer.zero_grad()
        loss.backward()  # expect: AMP206 likely
        self.scaler.step(self.optimizer)
        self.scaler.update()
