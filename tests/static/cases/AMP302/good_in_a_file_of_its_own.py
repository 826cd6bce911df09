"""Each state has a file of its own; and one that nothing ever reads again is a record."""

import torch
from torch.cuda.amp import GradScaler


class Trainer:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.scaler = GradScaler()

    def save(self, folder):
        torch.save(self.optimizer.state_dict(), folder / "optimizer.pt")
        torch.save(self.scaler.state_dict(), folder / "scaler.pt")

    def resume(self, folder):
        self.optimizer.load_state_dict(torch.load(folder / "optimizer.pt"))
        self.scaler.load_state_dict(torch.load(folder / "scaler.pt"))
