"""What runs the trainer is not in sight, but for a tool whose trainer takes no step."""

import torch


class Trainer:
    def __init__(self, model, optimizer, loader, loss_fn):
        self.model, self.optimizer, self.loader, self.loss_fn = model, optimizer, loader, loss_fn
        self.scaler = torch.amp.GradScaler("cuda")

    def train(self):
        for self.epoch in range(3):
            self.train_epoch()

    def train_epoch(self):
        for inputs, targets in self.loader:
            self.train_batch(inputs, targets)

    def train_batch(self, inputs, targets):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = self.loss_fn(self.model(inputs), targets)
        self.scaler.scale(loss).backward()  # expect: AMP212
        self.scaler.step(self.optimizer)
        self.scaler.update()
