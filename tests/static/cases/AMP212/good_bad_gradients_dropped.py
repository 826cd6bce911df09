"""Gradients are dropped where a check, kept under a name, found them not finite: the scaler skips that step anyway."""

import torch


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.scaler = torch.amp.GradScaler("cuda")

    def drop_what_is_not_finite(self):
        sound = True
        for param in self.model.parameters():
            if param.grad is not None:
                sound = not (torch.isnan(param.grad).any() or torch.isinf(param.grad).any())
                if not sound:
                    break
        if not sound:
            self.optimizer.zero_grad()

    def fit(self, batches):
        for batch in batches:
            self.optimizer.zero_grad()
            with torch.autocast("cuda"):
                loss = self.model(batch)
            self.scaler.scale(loss).backward()
            self.scaler.unscale_(self.optimizer)
            self.drop_what_is_not_finite()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 12)
            self.scaler.step(self.optimizer)
            self.scaler.update()
