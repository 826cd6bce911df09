"""That the output is cast to float32 leaves the weights half."""

import torch
from torch import nn


class Loop:
    def __init__(self, net, optimizer):
        self.net, self.optimizer = net, optimizer
        self.scaler = torch.amp.GradScaler("cuda")

    def run(self, batches):
        for inputs, targets in batches:
            self.optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                outputs = self.net(inputs)
                loss = nn.functional.mse_loss(outputs.float(), targets)
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()


def epoch(net, optimizer, scaler, batches):
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.mse_loss(net(inputs).float(), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def main(batches):
    net = nn.Linear(2, 1)
    net.half()  # expect: AMP401
    optimizer = torch.optim.SGD(net.parameters(), lr=0.3)
    epoch(net, optimizer, torch.amp.GradScaler("cuda"), batches)
