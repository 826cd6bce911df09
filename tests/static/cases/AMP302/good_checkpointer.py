"""The scaler is among what the checkpointer keeps."""

import torch
from fvcore.common.checkpoint import Checkpointer


class Engine:
    def __init__(self, model, optimizer, folder):
        self.model, self.optimizer = model, optimizer
        self.scaler = torch.amp.GradScaler("cuda")
        self.checkpointer = Checkpointer(model, folder, optimizer=optimizer, grad_scaler=self.scaler)

    def turn(self, batch):
        self.optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = self.model(batch)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
