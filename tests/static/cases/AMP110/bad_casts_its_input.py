"""Models that cast what they are given; what they give is the output of a layer."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Conv2d(3, 8, 3)
        self.head = nn.Linear(8, 2)

    def forward(self, images):
        images = images.float() / 255
        features = self.body(images).mean((2, 3))
        logits = self.head(features)
        return logits, features


class Direct(Net):
    def forward(self, images):
        return self.head(self.body(images.float()).mean((2, 3)))


class Trainer:
    def __init__(self, optimizer):
        self.model, self.other_net = Net(), Direct()
        self.optimizer = optimizer
        self.scaler = torch.amp.GradScaler("cuda")
        self.criterion = nn.CrossEntropyLoss()

    def step(self, images, targets):
        with torch.autocast("cuda"):
            logits, _ = self.model(images)
            again = self.other_net(images)
        loss = self.criterion(logits, targets)  # expect: AMP110 likely
        other = self.criterion(again, targets)  # expect: AMP110 likely
        self.scaler.scale(loss + other).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()
