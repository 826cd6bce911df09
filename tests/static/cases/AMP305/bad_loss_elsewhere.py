"""The loss of the region goes backward in another function: what called for it, or what it is handed to."""

import torch
from torch import nn


class Learner:
    def __init__(self, net):
        self.net = net
        self.optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def objective(self, inputs, targets):
        with torch.autocast("cuda", dtype=torch.float16):  # expect: AMP305 likely
            outputs = self.net(inputs)
            return nn.functional.mse_loss(outputs, targets), outputs

    def fit(self, batches):
        for inputs, targets in batches:
            self.optimizer.zero_grad()
            error, _ = self.objective(inputs, targets)
            error.backward()
            self.optimizer.step()


def update(error, optimizer):
    optimizer.zero_grad()
    error.backward()
    optimizer.step()


def train(net, optimizer, batches):
    for inputs, targets in batches:
        with torch.autocast("cuda", dtype=torch.float16):  # expect: AMP305 likely
            error = nn.functional.mse_loss(net(inputs), targets)
        update(error, optimizer)
