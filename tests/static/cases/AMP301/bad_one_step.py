"""A method that takes one step, called by whatever a registry gives."""

import torch


class Restorer:
    def __init__(self, model, optimizer, options):
        self.model, self.optimizer, self.options = model, optimizer, options

    def optimize(self, batch, target):
        enabled = self.options["amp"]
        scaler = torch.amp.GradScaler("cuda", enabled=enabled)  # expect: AMP301 likely
        self.optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16, enabled=enabled):
            loss = (self.model(batch) - target).abs().mean()
        scaler.scale(loss).backward()
        scaler.step(self.optimizer)
        scaler.update()
