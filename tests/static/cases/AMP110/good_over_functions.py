"""What the caller computes with is float32, is in a region of its own, or goes into no loss."""

import torch
from torch import nn


class Casting(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = nn.Linear(6, 3)

    @torch.autocast("cuda", dtype=torch.float16)
    def forward(self, values):
        return self.last(values).float()


class Normalising(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(6, 3)
        self.last = nn.LogSoftmax(-1)

    def forward(self, values):
        with torch.autocast("cuda", dtype=torch.float16):
            return self.last(self.body(values))


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = nn.Linear(6, 3)

    @torch.autocast("cuda", dtype=torch.float16)
    def forward(self, values):
        return self.last(values)


def step(loss, optimizer, scaler):
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()


def train(batches, optimizer, scaler):
    casting, normalising, plain = Casting(), Normalising(), Plain()
    for values, labels in batches:
        loss = nn.functional.cross_entropy(casting(values), labels)
        step(loss, optimizer, scaler)
        loss = nn.functional.nll_loss(normalising(values), labels)
        step(loss, optimizer, scaler)
        scores = plain(values)
        loss = nn.functional.cross_entropy(scores.float(), labels)
        step(loss, optimizer, scaler)
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(plain(values), labels)
        step(loss, optimizer, scaler)


def only_shown(network, optimizer, scaler, batches):
    for values, labels in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            scores = network(values)
            loss = nn.functional.cross_entropy(scores, labels)
        likely = scores.softmax(-1)
        print(likely.max())
        step(loss, optimizer, scaler)
