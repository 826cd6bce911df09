"""A scaler as a class of its own, that two programs make."""

import torch


class LossScaler:
    def __init__(self, grad_scaler_enabled=True):
        self.scaler = torch.amp.GradScaler("cuda", enabled=grad_scaler_enabled)

    def __call__(self, loss, optimizer):
        self.scaler.scale(loss).backward()
        self.scaler.step(optimizer)
        self.scaler.update()
