"""What runs a model on several devices computes what the model does: its forward is in the region."""

import torch
import torch.nn.functional as F
from torch import nn


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 1)

    def forward(self, inputs, targets):
        return F.binary_cross_entropy(torch.sigmoid(self.layer(inputs)), targets)  # expect: AMP404


def main(loader):
    network = nn.parallel.DistributedDataParallel(Detector().cuda(), device_ids=[0])
    optimizer = torch.optim.SGD(network.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = network(inputs, targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
