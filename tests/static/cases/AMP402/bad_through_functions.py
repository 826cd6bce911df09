import torch
from torch import nn


class Head(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.out = nn.Linear(width, width)

    def forward(self, x):
        return self.out(x)


def kept_inside(x, eps=1e-4):
    return torch.clamp(x.sigmoid_(), min=eps, max=1 - eps)  # expect: AMP402 likely


def focal(scores, targets):
    eps = 1e-12
    return -((scores + eps).log() * targets).sum()  # expect: AMP402 likely


def cost(scores, settings):
    eps = settings.get("eps", 1e-12)
    scores = scores.sigmoid()
    return -(scores + eps).log()  # expect: AMP402 likely


def set_by_whom(scores, settings):
    eps = settings.get("eps", 1e-3)
    scores = scores.sigmoid()
    return -(scores + eps).log()


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Linear(width, width)
        self.head = Head(width)

    def forward(self, inputs, targets, settings):
        features = self.body(inputs)
        codes = self.head(features)
        whitened = (codes - codes.mean(0)) / (codes.std(0) + 1e-8)  # expect: AMP402 likely
        loss = focal(kept_inside(features), targets)
        return loss + cost(codes, settings).mean() + set_by_whom(codes, settings).mean() + whitened.mean()


def train(optimizer, scaler, batches, settings):
    model = Model(16)
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(inputs, targets, settings)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
