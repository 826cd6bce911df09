import torch
from torch import nn


class Bound(nn.Module):
    """What is taken the logarithm of is not what the epsilon was added to."""

    def __init__(self, eps=1e-8):
        super().__init__()
        self.eps = eps

    def forward(self, logits, targets):
        p = torch.sigmoid(logits).float()
        q = torch.sigmoid(logits) + self.eps
        shown = q.mean()
        q = targets
        return -(torch.log(q) * p.clamp(self.eps, 1 - self.eps).log()).mean(), shown


def train(model, optimizer, scaler, batches):
    criterion = Bound()
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss, _ = criterion(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
