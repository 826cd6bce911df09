"""The region is in the forward, or in a function that runs it; the loss is computed by a caller, or by hand."""

import torch
from torch import nn


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(6, 6)
        self.last = nn.Sequential(nn.ReLU(), nn.Linear(6, 3))

    def forward(self, values):
        with torch.autocast("cuda", dtype=torch.float16):
            hidden = self.body(values)
            scores = self.last(hidden)
        return scores, hidden


def run(network, values):
    with torch.autocast("cuda", dtype=torch.float16):
        return network(values)


def predict(network, values):
    return run(network, values)


def by_a_wrapper(network, optimizer, scaler, batches):
    for values, labels in batches:
        scores = predict(network, values)
        loss = nn.functional.cross_entropy(scores, labels)  # expect: AMP110 likely
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


class Loop:
    def __init__(self):
        self.head = Head()
        self.optimizer = torch.optim.SGD(self.head.parameters(), lr=0.1)
        self.scaler = torch.amp.GradScaler("cuda")

    def fit(self, batches):
        for values, labels in batches:
            scores, _ = self.head(values)
            loss = nn.functional.nll_loss(scores.log_softmax(-1), labels)  # expect: AMP110 likely
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.optimizer.zero_grad()


def by_hand(network, optimizer, scaler, batches):
    for values, labels in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            scores = network(values)
        weights = torch.exp(scores)  # expect: AMP110 likely
        loss = -(weights / weights.sum(-1, keepdim=True))[:, 0].mean() + labels.mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
