import torch
from torch import nn


class Focal(nn.Module):
    def __init__(self, gamma=2.0, eps=1e-8):
        super().__init__()
        self.gamma, self.eps = gamma, eps

    def forward(self, logits, targets):
        p = torch.sigmoid(logits)
        p = p.clamp(self.eps, 1 - self.eps)  # expect: AMP402 likely
        return -(targets * p.log() + (1 - targets) * (1 - p).log()).mean()


class Entropy(nn.Module):
    def __init__(self, eps=1e-9):
        super().__init__()
        self.eps = eps

    def forward(self, logits):
        p = torch.sigmoid(logits)
        return -(p * torch.log(p + self.eps)).mean()  # expect: AMP402 likely


class Given(nn.Module):
    def __init__(self, eps=1e-9):
        super().__init__()
        self.eps = eps

    def forward(self, logits):
        p = torch.sigmoid(logits)
        return -(p * torch.log(p + self.eps)).mean()


def train(model, optimizer, scaler, batches):
    losses = [Focal(), Entropy()]
    given = Given(eps=1e-4)
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            outputs = model(inputs)
            loss = losses[0](outputs, targets) + losses[1](outputs) + given(outputs)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
