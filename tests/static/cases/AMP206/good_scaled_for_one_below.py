"""A method that takes a loss, and one in its place below, which is the one that a caller gives a scaled loss."""

import torch


class Trainer:
    def __init__(self, model, optimizer, amp):
        self.model, self.optimizer = model, optimizer
        self.scaler = torch.amp.GradScaler("cuda") if amp else None

    def backward(self, loss):
        self.optimizer.zero_grad()
        loss.backward()
        if self.scaler:
            self.scaler.step(self.optimizer)
            self.scaler.update()
        else:
            self.optimizer.step()


class Accumulating(Trainer):
    def backward(self, loss):
        loss.backward()
        if self.turn % self.every:
            return
        if self.scaler:
            self.scaler.step(self.optimizer)
            self.scaler.update()
        else:
            self.optimizer.step()
        self.optimizer.zero_grad()


class Energies(Accumulating):
    def train(self, batches):
        for batch in batches:
            with torch.autocast("cuda", enabled=self.scaler is not None):
                loss = self.model(batch)
            self.backward(self.scaler.scale(loss) if self.scaler else loss)
