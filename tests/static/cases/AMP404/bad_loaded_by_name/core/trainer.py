"""The region, around a model of which nothing is said."""

import torch


class Trainer:
    def __init__(self, model):
        self.model = model
        self.scaler = torch.amp.GradScaler("cuda")

    def train(self, loader):
        for batch, targets in loader:
            with torch.autocast("cuda"):
                total = self.model(batch, targets)["total"]
            self.scaler.scale(total).backward()
