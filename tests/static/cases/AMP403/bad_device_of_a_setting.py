"""A region without a dtype computes in float16 where the setting says CUDA: the fill raises there."""

import torch
from torch import nn


class Scores(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.score = nn.Linear(width, 1)

    def forward(self, seen, mask):
        scores = self.score(seen).squeeze(-1)
        return scores.masked_fill(mask, -1e9).softmax(-1)  # expect: AMP403 likely


class Trainer:
    def __init__(self, options):
        self.device = options["device"]
        self.model = Scores(8).to(self.device)
        self.optimizer = torch.optim.Adam(self.model.parameters())
        self.scaler = torch.amp.GradScaler("cuda", enabled=options["amp"])
        self.amp = options["amp"]

    def step(self, seen, mask, targets):
        self.optimizer.zero_grad()
        with torch.autocast(device_type=self.device.type, enabled=self.amp):
            loss = nn.functional.mse_loss(self.model(seen, mask), targets)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
