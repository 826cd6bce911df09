"""A scaler that steps the optimizer itself: that is its task."""

import torch


class ClosureScaler(torch.amp.GradScaler):
    def step(self, optimizer, *args, **kwargs):
        closure = kwargs["closure"]

        def scaled():
            loss = closure()
            self.scale(loss).backward()
            self.unscale_(optimizer)
            return loss

        return optimizer.step(scaled)


def train(model, optimizer, batches):
    scaler = ClosureScaler("cuda")
    for batch in batches:
        optimizer.zero_grad()
        scaler.step(optimizer, closure=lambda batch=batch: model(batch))
        scaler.update()
