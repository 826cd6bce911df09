"""A scaler that is called a scalar, and kept."""

import torch
from torch.cuda.amp import GradScaler


class Trainer:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.grad_scalar = GradScaler()

    def save(self, path):
        content = {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "grad_scalar": self.grad_scalar.state_dict(),
        }
        torch.save(content, path)

    def resume(self, path):
        content = torch.load(path)
        self.model.load_state_dict(content["model"])
        self.optimizer.load_state_dict(content["optimizer"])
        self.grad_scalar.load_state_dict(content["grad_scalar"])
