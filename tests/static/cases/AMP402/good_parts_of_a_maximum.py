"""These are large enough for float16."""

import torch
from torch import nn


def train(net, optimizer, scaler, batches):
    for inputs, targets in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            scores = nn.functional.linear(inputs, net.weight)
            first = scores / (scores.topk(2, dim=1).values + 1e-4)
            second = scores / (torch.relu(scores).sort(dim=1).values + 1e-6)
            chance = scores.sigmoid().clamp(max=1 - 1e-2)
            third = torch.log1p(-chance)
            loss = (first + second + third).float().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
