"""The dtype is a setting as well, or the device is the CPU: nothing says that either region computes in float16."""

import torch
from torch import nn


class Scores(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.score = nn.Linear(width, 1)

    def forward(self, seen, mask):
        scores = self.score(seen).squeeze(-1)
        return scores.masked_fill(mask, -1e9).softmax(-1)


def step(options, model, seen, mask, targets):
    with torch.autocast(device_type=options.device.type, dtype=options.dtype):
        loss = nn.functional.mse_loss(model(seen, mask), targets)
    loss.backward()


def step_on_cpu(model, seen, mask, targets):
    with torch.autocast("cpu"):
        loss = nn.functional.mse_loss(model(seen, mask), targets)
    loss.backward()


def run(options, batches):
    model = Scores(8)
    for seen, mask, targets in batches:
        step(options, model, seen, mask, targets)
        step_on_cpu(model, seen, mask, targets)
