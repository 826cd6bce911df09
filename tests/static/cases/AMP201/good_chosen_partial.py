"""One of the functions that a setting chooses from clips, the other measures: which one it is nobody knows."""

from functools import partial

import torch
from torch import nn


class Trainer:
    def __init__(self, model, limit):
        self.model = model
        self.size = partial(nn.utils.clip_grad_norm_, max_norm=limit) if limit else partial(torch.linalg.norm, ord=2)
        self.optimizer = torch.optim.Adam(model.parameters())
        self.scaler = torch.amp.GradScaler("cuda")

    def step(self, loss):
        self.optimizer.zero_grad(set_to_none=True)
        self.scaler.scale(loss).backward()
        self.size(self.model.parameters())
        self.scaler.step(self.optimizer)
        self.scaler.update()
