"""What switches the region is changed after the scaler's switch was worked out from it."""

import torch


class Trainer:
    def __init__(self, settings, device):
        self.mixed = settings.mixed
        self.scales = self.mixed or settings.scale_anyway  # expect: AMP303 likely
        if device == "cpu":
            self.mixed = False
        self.scaler = torch.amp.GradScaler("cuda", enabled=self.scales)

    def turn(self, model, optimizer, batch):
        with torch.autocast("cuda", dtype=torch.float16, enabled=self.mixed):
            loss = model(batch)
        self.scaler.scale(loss).backward()
        self.scaler.step(optimizer)
        self.scaler.update()
        optimizer.zero_grad()


def train(model, optimizer, batches, settings):
    half = settings.half
    scaler = torch.amp.GradScaler("cuda", enabled=half)  # expect: AMP303 likely
    if not next(model.parameters()).is_cuda:
        half = False
    for batch in batches:
        with torch.autocast("cuda", dtype=torch.float16, enabled=half):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
