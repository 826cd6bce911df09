"""A checkpointer keeps the states of what it is given by name."""

import torch
from fvcore.common.checkpoint import Checkpointer


class Engine:
    def __init__(self, model, optimizer, scheduler, folder):
        self.model, self.optimizer = model, optimizer
        self.scaler = torch.amp.GradScaler("cuda")
        self.checkpointer = Checkpointer(model, folder, optimizer=optimizer, scheduler=scheduler)  # expect: AMP302 likely

    def turn(self, batch):
        self.optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = self.model(batch)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
