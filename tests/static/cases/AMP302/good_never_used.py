"""Nothing scales with the scaler: its state stays as it was made."""

import torch
from torch.cuda.amp import GradScaler


class Trainer:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.scaler = GradScaler()

    def step(self, loss):
        loss.backward()
        self.optimizer.step()

    def save(self, path):
        torch.save({"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}, path)

    def resume(self, path):
        states = torch.load(path)
        self.model.load_state_dict(states["model"])
        self.optimizer.load_state_dict(states["optimizer"])
