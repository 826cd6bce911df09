"""The optimizer's state has a file of its own, which resuming reads; the scaler's has none."""

import torch
from torch.cuda.amp import GradScaler


class Trainer:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.scaler = GradScaler()

    def step(self, loss):
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()

    def save(self, folder):
        torch.save(self.model.state_dict(), folder / "model.pt")
        torch.save(self.optimizer.state_dict(), folder / "optimizer.pt")  # expect: AMP302

    def resume(self, folder):
        self.model.load_state_dict(torch.load(folder / "model.pt"))
        self.optimizer.load_state_dict(torch.load(folder / "optimizer.pt"))
