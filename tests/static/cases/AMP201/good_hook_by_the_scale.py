"""The hook's bounds are multiplied by the scale, as the gradients are."""

import torch


class Trainer:
    def __init__(self, model, optimizer, limit):
        self.model, self.optimizer, self.limit = model, optimizer, limit
        self.scaler = torch.amp.GradScaler("cuda")

    def turn(self, batch):
        self.optimizer.zero_grad()
        with torch.autocast("cuda"):
            colours = self.model(batch)
            loss = colours.mean()

        def bounded(grad):
            bound = self.scaler.get_scale() * self.limit
            return grad.clamp(-bound, bound)

        colours.register_hook(bounded)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
