"""A trainer whose parts others override."""

import torch


class Trainer:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.scaler = torch.amp.GradScaler("cuda")

    def apply(self):
        self.scaler.step(self.optimizer)
        self.scaler.update()

    def train_step(self, batch):
        self.optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = self.loss_of(batch)
        self.scaler.scale(loss).backward()
        self.apply()
